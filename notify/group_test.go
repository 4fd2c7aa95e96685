package notify_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/notify"
)

// crowd is a scene of many jobs and a channel of each kind.
func crowd(t *testing.T, n int) *scene {
	t.Helper()
	entries := []jobs.Entry{
		jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC"},
		jobs.Channel{Name: "ops", Type: jobs.ChannelSlack, URLEnv: "OPS"}, jobs.Channel{Name: "hub", Type: jobs.ChannelWebhook, URLEnv: "HUB"},
		jobs.Channel{Name: "am", Type: jobs.ChannelAlertmanager, URLEnv: "AM"},
	}
	for i := range n {
		entries = append(entries, jobs.Job{ID: fmt.Sprintf("j%03d", i), Schedule: "* * * * *", Target: "svc", Path: "/j"})
	}
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return &scene{T: t, Store: memory.New(), registry: reg}
}

func (s *scene) each(state ledger.State) {
	for _, j := range s.registry.Jobs() {
		if strings.HasPrefix(j.ID, "j") {
			s.ends(j.ID, state)
		}
	}
}

// bodies are what a channel was sent.
func (s *scene) bodies(channel string) (bodies []string) {
	s.Helper()
	list, err := s.List(context.Background(), ledger.Filter{JobID: "notify-" + channel, Limit: 1000})
	if err != nil {
		s.Fatal(err)
	}
	for i := len(list) - 1; i >= 0; i-- {
		run, _, err := s.Get(context.Background(), list[i].ID)
		if err != nil {
			s.Fatal(err)
		}
		bodies = append(bodies, string(run.Call.Body))
	}
	return bodies
}

// 150 jobs that fail at once are one message for people, one list of alerts, and an event
// each for programs; so is their recovery.
func TestManyIncidentsOfOneCauseAreOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd(t, 150)
		for n, step := range []struct {
			state ledger.State
			want  string
		}{{ledger.Dead, "150 jobs: dead runs (exhausted)"}, {ledger.Succeeded, "150 jobs: recovered: dead runs"}} {
			s.each(step.state)
			time.Sleep(notify.CheckEvery)
			if err := s.watch(-1, false); err != nil {
				t.Fatal(err)
			}
			slack, alerts, events := s.bodies("ops"), s.bodies("am"), s.bodies("hub")
			if len(slack) != n+1 || len(alerts) != n+1 || len(events) != 150*(n+1) {
				t.Fatalf("%d messages, %d lists of alerts, %d events", len(slack), len(alerts), len(events))
			}
			if text := slack[n]; !strings.Contains(text, step.want) || !strings.Contains(text, "j000, j001") || !strings.Contains(text, "and 130 more") {
				t.Errorf("told %s, want %q", text, step.want)
			}
			if c := strings.Count(alerts[n], `"alertname"`); c != 150 {
				t.Errorf("%d alerts", c)
			}
			if err := s.watch(-1, false); err != nil || len(s.bodies("ops")) != n+1 {
				t.Errorf("told again: %v, %v", s.bodies("ops"), err)
			}
			s.deliver()
		}
	})
}

func TestFewIncidentsAreAMessageEach(t *testing.T) {
	s := crowd(t, 4)
	s.each(ledger.Dead)
	if err := s.watch(-1, false); err != nil || len(s.bodies("ops")) != 4 || len(s.bodies("am")) != 4 {
		t.Errorf("%q, %v", s.bodies("ops"), err)
	}
}

// A process that is killed at any step, or that another one precedes, leaves no incident
// untold.
func TestNoIncidentOfAGroupIsLostOverKills(t *testing.T) {
	for step := 1; step < 12; step++ {
		for _, after := range []bool{false, true} {
			s := crowd(t, 6)
			s.each(ledger.Dead)
			_ = s.watch(step, after)
			if err := s.watch(-1, false); err != nil {
				t.Fatal(err)
			}
			all := strings.Join(s.bodies("ops"), "\n")
			for _, j := range s.registry.Jobs() {
				if strings.HasPrefix(j.ID, "j") && !strings.Contains(all, j.ID) {
					t.Errorf("killed at step %d: %s is not told:\n%s", step, j.ID, all)
				}
			}
		}
	}
}

// preceded is a ledger in which another notifier changes the first incident before each
// notification of this one.
type preceded struct {
	ledger.Store
	once bool
}

func (p *preceded) Notify(ctx context.Context, n ledger.Notification) (bool, error) {
	if !p.once {
		p.once = true
		other := n
		other.Runs = nil
		other.NotifierState, other.DueAt = []byte("{}"), time.Now()
		if _, err := p.Store.Notify(ctx, other); err != nil {
			return false, err
		}
	}
	return p.Store.Notify(ctx, n)
}

func TestAGroupWhoseMessageWasNotWrittenIsToldInTheNextLook(t *testing.T) {
	s := crowd(t, 6)
	s.each(ledger.Dead)
	w := notify.NewNotifier(notify.Config{Registry: s.registry, Ledger: &preceded{Store: s.Store}, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	for range 2 {
		if _, err := w.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.bodies("ops"); len(got) != 1 || !strings.Contains(got[0], "6 jobs") {
		t.Errorf("told %q", got)
	}
}
