package notify_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

var begin = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

// life is one incident and what a channel is told of it.
type life struct {
	*testing.T
	ledger.Incident
	channel     jobs.Channel
	undelivered map[string]bool
	now         time.Time
}

func newLife(t *testing.T, c jobs.Channel) *life {
	c.Name = "ops"
	return &life{T: t, channel: c, now: begin, Incident: ledger.Incident{ID: 1, JobID: "j", Cause: ledger.IncidentDead, Count: 1, OpenedAt: begin, LastAt: begin}}
}

// after lets time pass and checks what is told then, "" for nothing.
func (l *life) after(d time.Duration, want notify.Event) {
	l.Helper()
	l.now = l.now.Add(d)
	got, err := notify.Decide(l.Incident, jobs.Job{ID: "j"}, []jobs.Channel{l.channel}, l.undelivered, l.now)
	if err != nil {
		l.Fatal(err)
	}
	var event notify.Event
	if len(got.Notifications) > 0 {
		event = got.Notifications[0].Event
	}
	if event != want || len(got.Notifications) > 1 {
		l.Errorf("%s after the beginning: told %q, want %q", l.now.Sub(begin), event, want)
	}
	again, err := notify.Decide(l.Incident, jobs.Job{ID: "j"}, []jobs.Channel{l.channel}, l.undelivered, l.now)
	if err != nil || string(again.State) != string(got.State) {
		l.Errorf("the same question has another answer: %s, %s (%v)", got.State, again.State, err)
	}
	l.NotifierState, l.DueAt = got.State, got.DueAt
}

func (l *life) closes() { l.ClosedAt = l.now }

func (l *life) opens() {
	l.ClosedAt = time.Time{}
	l.Count++
	l.Reopened++
}

func (l *life) due(want time.Duration) {
	l.Helper()
	if want == 0 && !l.DueAt.IsZero() || want != 0 && !l.DueAt.Equal(begin.Add(want)) {
		l.Errorf("due at %s, want %s after the beginning", l.DueAt, want)
	}
}

func TestAProblemAndItsEndAreToldOnce(t *testing.T) {
	l := newLife(t, jobs.Channel{})
	l.after(0, notify.Opened)
	l.due(0)
	l.Count++
	l.after(time.Minute, "")
	l.closes()
	l.after(0, notify.Recovered)
	l.after(24*time.Hour, "")
	l.due(0)
}

// The end is told in another look, once the beginning has been delivered.
func TestAProblemThatIsOverBeforeAnybodyLooksIsTold(t *testing.T) {
	l := newLife(t, jobs.Channel{})
	l.closes()
	l.after(time.Second, notify.Opened)
	l.due(time.Second + notify.CheckEvery)
	l.NotifierState = []byte(`{"ops":{"open":true,"at":"2026-11-22T10:00:01Z","openings":1,"runs":["a","b"]}}`)
	l.undelivered = map[string]bool{"b": true}
	l.after(3*time.Second, "")
	l.due(4*time.Second + notify.CheckEvery)
	l.after(16*time.Second, "")
	l.due(20*time.Second + 19*time.Second)
	l.after(time.Hour, "")
	l.due(time.Hour + 20*time.Second + time.Minute)
	l.undelivered = map[string]bool{"a": true}
	l.after(0, notify.Recovered)
	l.due(0)
	l.opens()
	l.closes()
	l.after(time.Minute, notify.Opened)
}

// Ten problems, each of them over within a second: the first one is told, and that it
// flaps.
func TestAProblemThatFlapsFasterThanAnybodyLooksIsTold(t *testing.T) {
	l := newLife(t, jobs.Channel{})
	l.closes()
	l.after(time.Second, notify.Opened)
	for range 9 {
		l.opens()
		l.closes()
	}
	l.after(time.Second, notify.Reminded)
	l.after(time.Minute, "")
	l.after(ledger.ReopenWithin, notify.Recovered)
}

func TestAProblemThatOpensAgainBeforeItsEndWasToldIsToldToLast(t *testing.T) {
	l := newLife(t, jobs.Channel{})
	l.after(0, notify.Opened)
	l.closes()
	l.opens()
	l.after(time.Second, notify.Reminded)
	l.after(time.Minute, "")
}

// A channel that is new, or processes that did not run, need not hear of old problems
// that are over, nor of those that an operator closed.
func TestAProblemThatIsLongOverIsNotTold(t *testing.T) {
	l := newLife(t, jobs.Channel{})
	l.closes()
	l.after(ledger.ReopenWithin, "")
	l = newLife(t, jobs.Channel{})
	l.closes()
	l.ClosedByOperator = true
	l.after(0, "")
}

func TestAnEndIsNotToldToWhomTheProblemWasNot(t *testing.T) {
	l := newLife(t, jobs.Channel{After: 3})
	l.after(0, "")
	l.Count++
	l.after(0, "")
	l.closes()
	l.after(0, "")
	l.opens()
	l.after(0, notify.Opened)
}

func TestAnOpenProblemIsRemindedOfUntilItIsAcknowledged(t *testing.T) {
	l := newLife(t, jobs.Channel{Remind: 6 * time.Hour})
	l.after(0, notify.Opened)
	l.due(6 * time.Hour)
	l.after(5*time.Hour, "")
	l.after(time.Hour, notify.Reminded)
	l.due(12 * time.Hour)
	l.AckedAt = l.now
	l.after(24*time.Hour, "")
	l.due(0)
	l.closes()
	l.after(0, notify.Recovered)
}

func TestAnAcknowledgedProblemIsNotTold(t *testing.T) {
	l := newLife(t, jobs.Channel{})
	l.AckedAt = l.now
	l.after(0, "")
	l.closes()
	l.after(0, "")
}

func TestTheEndOfAFlappingProblemIsHeldBack(t *testing.T) {
	l := newLife(t, jobs.Channel{})
	l.after(0, notify.Opened)
	l.closes()
	l.after(time.Minute, notify.Recovered)
	l.opens()
	l.after(time.Minute, notify.Opened)
	l.closes()
	l.after(time.Minute, notify.Recovered)
	l.opens()
	l.after(time.Minute, notify.Opened)
	for range 20 {
		l.closes()
		l.after(time.Minute, "")
		l.opens()
		l.after(time.Minute, "")
	}
	l.closes()
	l.after(0, "")
	if l.DueAt.Sub(l.now) != ledger.ReopenWithin {
		t.Errorf("due %s later", l.DueAt.Sub(l.now))
	}
	l.after(ledger.ReopenWithin, notify.Recovered)
}

func TestAnOperatorsCloseIsToldAtOnce(t *testing.T) {
	l := newLife(t, jobs.Channel{})
	l.Reopened = 5
	l.after(0, notify.Opened)
	l.closes()
	l.ClosedByOperator = true
	l.after(notify.CheckEvery, notify.Recovered)
}

func TestEachChannelIsToldByItsOwnRules(t *testing.T) {
	channels := []jobs.Channel{
		{Name: "all"}, {Name: "other", Jobs: []string{"x-*"}}, {Name: "late", On: []string{"late"}}, {Name: "patient", After: 2}, {Name: "self"},
	}
	i := ledger.Incident{ID: 1, JobID: "notify-self", Cause: ledger.IncidentDead, Count: 1}
	d, err := notify.Decide(i, jobs.Job{ID: i.JobID}, channels, nil, begin)
	if err != nil || len(d.Notifications) != 1 || d.Notifications[0].Channel.Name != "all" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := notify.Decide(ledger.Incident{NotifierState: []byte("{")}, jobs.Job{ID: "j"}, channels, nil, begin); err == nil {
		t.Error("damaged knowledge was taken")
	}
}
