package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/ledger/sqlite"
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

func (m *mortal) Assignments(ctx context.Context, version string) (list []ledger.JobAssignment, err error) {
	if m.step() {
		list, err = m.Store.Assignments(ctx, version)
	}
	return list, m.answer(err)
}

func (m *mortal) Incidents(ctx context.Context, f ledger.IncidentFilter) (list []ledger.Incident, err error) {
	if m.step() {
		list, err = m.Store.Incidents(ctx, f)
	}
	return list, m.answer(err)
}

func (m *mortal) Observe(ctx context.Context, cause ledger.IncidentCause, troubles []ledger.Trouble) (err error) {
	if m.step() {
		err = m.Store.Observe(ctx, cause, troubles)
	}
	return m.answer(err)
}

func (m *mortal) MarkLate(ctx context.Context, limit int) (n int, err error) {
	if m.step() {
		n, err = m.Store.MarkLate(ctx, limit)
	}
	return n, m.answer(err)
}

func (m *mortal) Tell(ctx context.Context, t ledger.Telling) (done bool, err error) {
	if m.step() {
		done, err = m.Store.Tell(ctx, t)
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
	got, err := s.Enter(context.Background(), ledger.Entry{JobID: jobID, Token: id, Owner: "p", LeaseFor: time.Minute, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByEvent, Overlap: ledger.OverlapAllow, Lease: true,
		Call: ledger.Call{Target: "svc", Method: "POST", Path: "/j", Horizon: time.Hour},
	}})
	if err != nil || got.Work == nil {
		s.Fatalf("%+v, %v", got, err)
	}
	o := ledger.Outcome{Lease: ledger.Lease{RunID: id, Token: id}, State: state, Attempt: ledger.Attempt{RunID: id, N: 1, Answer: ledger.Fresh}}
	if state == ledger.Dead {
		o.Reason, o.Attempt.Answer, o.Attempt.Error = ledger.Exhausted, ledger.Failed, "no"
	}
	if results, err := s.Record(context.Background(), []ledger.Outcome{o}); err != nil || results[0] != ledger.Recorded {
		s.Fatal(results, err)
	}
}

// watch is a process that lives for so many steps on the ledger.
func (s *scene) watch(steps int, after bool) error {
	l := &mortal{Store: s.Store, steps: steps, after: after}
	_, err := notify.NewWatch(notify.Config{
		Registry: s.registry, Ledger: l, Runs: l, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}).Check(context.Background())
	return err
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
		if !ledger.AdHoc(list[i].ID) || list[i].Call.Target != "notify:"+channel {
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

// A process that is killed at any of its steps, before or after the ledger took it,
// loses no notification and doubles none.
func TestNoNotificationIsLostOrDoubledOverKills(t *testing.T) {
	for name, open := range map[string]func(*testing.T) ledger.Store{
		"memory": func(*testing.T) ledger.Store { return memory.New() },
		"sqlite": func(t *testing.T) ledger.Store {
			l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			for step := 1; ; step++ {
				ended := false
				for _, after := range []bool{false, true} {
					s := newScene(t, open(t))
					s.ends("j", ledger.Dead)
					ended = s.watch(step, after) == nil // it came to its end before it was to be killed
					if err := s.watch(-1, false); err != nil {
						t.Fatal(err)
					}
					s.want("ops", "opened")
					s.want("hub", "opened")
					s.ends("j", ledger.Succeeded)
					_ = s.watch(step, after)
					if err := s.watch(-1, false); err != nil {
						t.Fatal(err)
					}
					if got := s.told("ops"); len(got) != 2 {
						t.Errorf("killed at step %d: told %q", step, got)
					}
				}
				if ended {
					return
				}
			}
		})
	}
}

// Problems, ends, acknowledgements and kills in any order: each channel is told of a
// problem, then of its end, in turn; at the end nobody waits for news.
func TestAnyLifeIsToldInTurn(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := newScene(t, memory.New())
			for range 60 {
				switch r.IntN(6) {
				case 0:
					s.ends("j", ledger.Dead)
				case 1:
					s.ends("j", ledger.Succeeded)
				case 2:
					_ = s.watch(1+r.IntN(6), r.IntN(2) == 0)
				case 3:
					_ = s.watch(-1, false)
				case 4:
					if i := s.open(); i != nil && r.IntN(3) == 0 {
						if _, err := s.AckIncident(t.Context(), ledger.IncidentAct{ID: i.ID, Close: r.IntN(2) == 0, Actor: ledger.Actor{By: "ann", Why: "x"}}); err != nil {
							t.Fatal(err)
						}
					}
				}
				time.Sleep(time.Duration(r.IntN(1200)) * time.Second)
			}
			s.ends("j", ledger.Succeeded)
			time.Sleep(2 * ledger.ReopenWithin)
			_ = s.watch(-1, false)
			for _, channel := range []string{"ops", "hub"} {
				open := false
				for _, event := range s.told(channel) {
					if event == "opened" && open || event != "opened" && !open {
						t.Errorf("seed %d: channel %s: %q out of turn: %q", seed, channel, event, s.told(channel))
					}
					open = event != "recovered"
				}
				if open {
					t.Errorf("seed %d: channel %s was not told of the end: %q", seed, channel, s.told(channel))
				}
			}
		})
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

// A channel that cannot deliver is told of in the other channels, not in itself, and
// however often it fails that is one problem.
func TestAFailingChannelIsAnIncidentWithoutALoop(t *testing.T) {
	s := newScene(t, memory.New())
	for range 10 {
		s.ends("notify-ops", ledger.Dead)
		s.ends("notify-hub", ledger.Dead)
		if err := s.watch(-1, false); err != nil {
			t.Fatal(err)
		}
	}
	s.want("ops", "opened")
	s.want("hub", "opened")
	list, err := s.Incidents(t.Context(), ledger.IncidentFilter{})
	if err != nil || len(list) != 2 {
		t.Errorf("incidents %+v, %v", list, err)
	}
}

// The look says what no run shows, and takes it back.
func TestJobsThatNoProcessPlansAndAnOverduePurgeAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, memory.New())
		body, hash, err := s.registry.Jobs()[0].Definition()
		if err != nil {
			t.Fatal(err)
		}
		declare := ledger.Declaration{Process: "p", Registry: "acme", Version: "v", Definitions: func(yield func(ledger.Definition) bool) {
			yield(ledger.Definition{JobID: "j", Hash: hash, Body: body})
		}}
		if err := s.Declare(t.Context(), declare); err != nil {
			t.Fatal(err)
		}
		list, err := s.Assignments(t.Context(), "v")
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		overdue := true
		w := notify.NewWatch(notify.Config{
			Registry: s.registry, Ledger: s.Store, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
			Purge: func(context.Context) (time.Time, bool, error) { return time.Time{}, overdue, nil },
		})
		look := func(after time.Duration) (open []string) {
			time.Sleep(after)
			if _, err := w.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			list, err := s.Incidents(t.Context(), ledger.IncidentFilter{Open: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range list {
				open = append(open, i.JobID+" "+string(i.Cause))
			}
			return open
		}
		if open := look(0); len(open) != 0 {
			t.Errorf("open at the start: %q; a process that begins has to plan first", open)
		}
		if open := look(2 * time.Minute); strings.Join(open, ", ") != "purge-expired-keys overdue" {
			t.Errorf("open: %q", open)
		}
		overdue = false
		if open := look(10 * time.Minute); strings.Join(open, ", ") != "j unplanned" {
			t.Errorf("open: %q", open)
		}
		p := list[0].Position
		if _, err := s.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{{JobID: "j", Revision: p.Revision, After: p.Watermark, Through: time.Now().UTC()}}, Token: "t"}); err != nil {
			t.Fatal(err)
		}
		if open := look(time.Minute); len(open) != 0 {
			t.Errorf("open: %q", open)
		}
	})
}
