package notify_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/notify"
)

var errFault = errors.New("fault")

// faulty is a ledger at which one operation fails while it is named.
type faulty struct {
	ledger.Store
	op      string
	hangs   bool   // the operation has no answer instead, until its context ends
	lost    bool   // it cannot list the changes
	damaged string // the job whose incidents nobody can read
}

func (f *faulty) fault(ctx context.Context, op string) error {
	if f.op != op {
		return nil
	}
	if f.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return errFault
}

func (f *faulty) Incidents(ctx context.Context, filter ledger.IncidentFilter) ([]ledger.Incident, error) {
	list, err := f.Store.Incidents(ctx, filter)
	for n := range list {
		if list[n].JobID == f.damaged {
			list[n].NotifierState = []byte("{")
		}
	}
	return list, err
}

func (f *faulty) MarkLate(ctx context.Context, limit int) (int, error) {
	if err := f.fault(ctx, "MarkLate"); err != nil {
		return 0, err
	}
	return f.Store.MarkLate(ctx, limit)
}

func (f *faulty) Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
	if err := f.fault(ctx, "Assignments"); err != nil {
		return nil, err
	}
	return f.Store.Assignments(ctx, version, after)
}

func (f *faulty) Changes(ctx context.Context, after string) (ledger.Changes, error) {
	if err := f.fault(ctx, "Changes"); err != nil {
		return ledger.Changes{}, err
	}
	c, err := f.Store.Changes(ctx, after)
	if f.lost {
		c.Runs, c.Lost = nil, true
	}
	return c, err
}

func (f *faulty) Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error) {
	if err := f.fault(ctx, "Get"); err != nil {
		return ledger.Run{}, nil, err
	}
	return f.Store.Get(ctx, runID)
}

// Enter fails only for the ping of a run's end.
func (f *faulty) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	if err := f.fault(ctx, "Enter"); err != nil && !strings.HasSuffix(e.RunID, "-start") {
		return ledger.Entered{}, err
	}
	return f.Store.Enter(ctx, e)
}

func (f *faulty) watch(s *scene) *notify.Notifier {
	return notify.NewNotifier(notify.Config{
		Registry: s.registry, Ledger: f, Runs: f, Planned: true, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Purge: func(ctx context.Context) (time.Time, bool, error) { return time.Time{}, false, f.fault(ctx, "Purge") },
	})
}

// failed is a scene in which a run of each of two jobs has failed.
func failed(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, memory.New())
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC"}, jobs.Alarm{StartWithin: time.Hour},
		jobs.Job{ID: "j", Schedule: "* * * * *", Target: "svc", Path: "/j", HeartbeatURLEnv: "HC"},
		jobs.Job{ID: "k", Schedule: "* * * * *", Target: "svc", Path: "/k"},
		jobs.Channel{Name: "ops", Type: jobs.ChannelSlack, URLEnv: "OPS"})
	if err != nil {
		t.Fatal(err)
	}
	s.registry = reg
	s.ends("j", ledger.Dead)
	s.ends("k", ledger.Dead)
	return s
}

// A step of the check that fails or hangs each time is reported, and notifications are
// written.
func TestIncidentsAreToldWhileAnotherStepFails(t *testing.T) {
	for _, op := range []string{"MarkLate", "Assignments", "Purge", "Changes"} {
		for fault, want := range map[string]error{"fails": errFault, "hangs": context.DeadlineExceeded} {
			t.Run(op+" "+fault, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := failed(t)
					if _, err := (&faulty{Store: s.Store, op: op, hangs: fault == "hangs"}).watch(s).Check(t.Context()); !errors.Is(err, want) {
						t.Errorf("Check returned %v, want %v", err, want)
					}
					s.want("ops", "opened", "opened")
				})
			})
		}
	}
}

// An incident that cannot be read is reported, and the others are told.
func TestIncidentsAreToldBesideADamagedOne(t *testing.T) {
	for _, damaged := range []string{"j", "k"} {
		s := failed(t)
		if _, err := (&faulty{Store: s.Store, damaged: damaged}).watch(s).Check(t.Context()); err == nil {
			t.Error("Check reports nothing")
		}
		s.want("ops", "opened")
	}
}

// The end of a run whose start had to be told first is written once the ledger
// answers again.
func TestTheEndOfAWaitingRunOutlastsAFault(t *testing.T) {
	for _, c := range []struct {
		op    string
		state ledger.State
		end   string
	}{{"Enter", ledger.Succeeded, ""}, {"Get", ledger.Dead, "/fail"}} {
		t.Run(c.op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := beating(t)
				l := &faulty{Store: s.Store}
				w := l.watch(s)
				run := s.begins("j", true)
				look(t, w)
				time.Sleep(time.Second)
				s.record(run, c.state)
				look(t, w) // the receiver has not taken the start yet
				s.delivered()
				l.op = c.op
				if _, err := w.Check(t.Context()); !errors.Is(err, errFault) {
					t.Fatalf("Check returned %v, want %v", err, errFault)
				}
				l.op = ""
				look(t, w)
				if got := s.pings(); !slices.Equal(got, []string{"/start", c.end}) {
					t.Errorf("told %q, want a start and %q", got, c.end)
				}
			})
		})
	}
}
