package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

// errKilled is what a process reads that does not live to read it.
var errKilled = errors.New("killed")

// mortal is a ledger under a process that is killed at one of its steps.
type mortal struct {
	ledger.Store
	steps  int  // that it lives for; below 0: forever
	killed bool // nothing reaches the ledger any more
	after  bool // the last step is still applied
}

func (m *mortal) step() (apply bool) {
	if m.killed {
		return false
	}
	if m.steps--; m.steps == 0 {
		m.killed = true
		return m.after
	}
	return true
}

func (m *mortal) answer(err error) error {
	if m.killed {
		return errKilled
	}
	return err
}

func (m *mortal) Assignments(ctx context.Context, version, after string) (list []ledger.JobAssignment, err error) {
	if m.step() {
		list, err = m.Store.Assignments(ctx, version, after)
	}
	return list, m.answer(err)
}

func (m *mortal) Incidents(ctx context.Context, f ledger.IncidentFilter) (list []ledger.Incident, err error) {
	if m.step() {
		list, err = m.Store.Incidents(ctx, f)
	}
	return list, m.answer(err)
}

func (m *mortal) ReconcileIncidents(ctx context.Context, cause ledger.IncidentCause, observed []ledger.JobProblem) (err error) {
	if m.step() {
		err = m.Store.ReconcileIncidents(ctx, cause, observed)
	}
	return m.answer(err)
}

func (m *mortal) MarkLate(ctx context.Context, limit int) (n int, err error) {
	if m.step() {
		n, err = m.Store.MarkLate(ctx, limit)
	}
	return n, m.answer(err)
}

func (m *mortal) Notify(ctx context.Context, t ledger.Notification) (done bool, err error) {
	if m.step() {
		done, err = m.Store.Notify(ctx, t)
	}
	return done, m.answer(err)
}

func (m *mortal) Changes(ctx context.Context, after string) (c ledger.Changes, err error) {
	if m.step() {
		c, err = m.Store.Changes(ctx, after)
	}
	return c, m.answer(err)
}

func (m *mortal) List(ctx context.Context, f ledger.Filter) (list []ledger.Run, err error) {
	if m.step() {
		list, err = m.Store.List(ctx, f)
	}
	return list, m.answer(err)
}

func (m *mortal) Enter(ctx context.Context, e ledger.Entry) (got ledger.Entered, err error) {
	if m.step() {
		got, err = m.Store.Enter(ctx, e)
	}
	return got, m.answer(err)
}

// scene is a ledger with one job, and the channels that are told of it.
type scene struct {
	*testing.T
	ledger.Store
	registry *jobs.Registry
	runs     int
	ahead    time.Duration // of the machine's clock, by which the watch goes
}

func newScene(t *testing.T, s ledger.Store) *scene {
	t.Helper()
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC"},
		jobs.Job{ID: "j", Schedule: "* * * * *", Target: "svc", Path: "/j"},
		jobs.Channel{Name: "ops", Type: jobs.ChannelSlack, URLEnv: "OPS"}, jobs.Channel{Name: "hub", Type: jobs.ChannelWebhook, URLEnv: "HUB", Remind: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return &scene{T: t, Store: s, registry: reg}
}

// ends makes a ~ run of a job that ends in a state.
func (s *scene) ends(jobID string, state ledger.State) {
	s.Helper()
	s.runs++
	at := time.Now().UTC().Truncate(time.Second)
	id := fmt.Sprintf("%s~%d", jobs.RunID(jobID, at), s.runs)
	got, err := s.Enter(context.Background(), ledger.Entry{JobID: jobID, Token: id, Process: "p", LeaseFor: time.Minute, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByEvent, Overlap: ledger.OverlapAllow, Lease: true,
		Call: ledger.CallSpec{Target: "svc", Method: "POST", Path: "/j", Horizon: time.Hour},
	}})
	if err != nil || got.Work == nil {
		s.Fatalf("%+v, %v", got, err)
	}
	o := ledger.Outcome{Lease: ledger.Lease{RunID: id, Token: id}, State: state, Attempt: ledger.Attempt{RunID: id, N: 1, Answer: ledger.AnswerFresh}}
	if state == ledger.Dead {
		o.Reason, o.Attempt.Answer, o.Attempt.Error = ledger.ReasonExhausted, ledger.AnswerFailed, "no"
	}
	if results, err := s.Record(context.Background(), []ledger.Outcome{o}); err != nil || results[0] != ledger.Recorded {
		s.Fatal(results, err)
	}
}

// watch is a process that lives for so many steps on the ledger.
func (s *scene) watch(steps int, after bool) error {
	l := &mortal{Store: s.Store, steps: steps, after: after}
	_, err := notify.NewNotifier(notify.Config{
		Registry: s.registry, Ledger: l, Runs: l, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(s.ahead) },
	}).Check(context.Background())
	return err
}

// deliver has all notifications arrive that are due.
func (s *scene) deliver() {
	s.Helper()
	s.runs++
	got, err := s.Claim(context.Background(), ledger.ClaimRequest{Process: "p", Token: fmt.Sprint("deliver-", s.runs), LeaseFor: time.Minute, Limit: 1000})
	if err != nil {
		s.Fatal(err)
	}
	for _, w := range got.Work {
		_, err := s.Record(context.Background(), []ledger.Outcome{{
			Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Succeeded, Attempt: ledger.Attempt{RunID: w.RunID, N: w.Attempt, Answer: ledger.AnswerFresh},
		}})
		if err != nil {
			s.Fatal(err)
		}
	}
}

// told are the events of a channel, in the order in which they were written.
func (s *scene) told(channel string) (events []string) {
	s.Helper()
	list, err := s.List(context.Background(), ledger.Filter{JobID: "notify-" + channel, Limit: 1000})
	if err != nil {
		s.Fatal(err)
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Trigger != ledger.ByIncident {
			continue // a failure that the test made
		}
		if !ledger.IsAdHoc(list[i].ID) || list[i].Call.Target != "notify:"+channel {
			s.Errorf("run %+v", list[i])
		}
		events = append(events, list[i].ID[strings.LastIndex(list[i].ID, "-")+1:])
	}
	return events
}

func (s *scene) want(channel string, events ...string) {
	s.Helper()
	if got := s.told(channel); strings.Join(got, " ") != strings.Join(events, " ") {
		s.Errorf("channel %s was told %q, want %q", channel, got, events)
	}
}

func (s *scene) open() *ledger.Incident {
	list, err := s.Incidents(context.Background(), ledger.IncidentFilter{Open: true})
	if err != nil {
		s.Fatal(err)
	}
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}
