package ledgertest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/ledger"
)

var scheduleRaceCases = []testCase{
	{"two writers of a schedule and two planners lose no scheduled time and add none", func(t *fixture) {
		t.template()
		keys := []string{"a", "b", "c"}
		stores := []ledger.Store{t.Store, t.secondReplica()}
		r := scheduleRace{edited: make(chan struct{})}
		var writers, planners sync.WaitGroup
		for w, store := range stores {
			for _, key := range keys {
				writers.Go(func() { r.edit(t, store, key, w) })
			}
			planners.Go(func() { r.plan(t, store) })
		}
		go func() {
			writers.Wait()
			close(r.edited)
		}()
		for range r.edited {
			t.advance(300 * time.Millisecond)
		}
		r.stop.Store(true)
		planners.Wait()
		t.must(r.err)
		t.advance(5 * time.Second)
		t.planAll()
		for _, key := range keys {
			r.check(t, key)
		}
	}},
	{"of two that make one schedule at once, one makes it", func(t *fixture) {
		var made, unchanged sync.Map
		var both sync.WaitGroup
		for w, store := range []ledger.Store{t.Store, t.secondReplica()} {
			both.Go(func() {
				for i := range 20 {
					list := manyPuts(10, "1m")
					for k := range list {
						list[k].JobID += fmt.Sprintf("-%d", i)
					}
					if w == 1 {
						slices.Reverse(list)
					}
					got, err := store.ChangeSchedules(t.ctx, ledger.ChangeSchedulesRequest{Template: "t", Items: list, Rules: timing{}, Actor: someone})
					if err != nil {
						t.Errorf("%v", err)
						return
					}
					for k := range got {
						to := &unchanged
						if got[k].Effect == ledger.ScheduleCreated {
							to = &made
						}
						if _, twice := to.LoadOrStore(list[k].JobID, true); twice || got[k].Err != nil {
							t.Errorf("%s: %s twice, %v", list[k].JobID, got[k].Effect, got[k].Err)
						}
					}
				}
			})
		}
		both.Wait()
		t.inQuota(200)
	}},
	{"of many changes at once each has the answer and the audit that it has alone", func(t *fixture) {
		t.putSchedule(upsert("shared", "1m"), ledger.ScheduleCreated)
		const each, quota = 40, 31
		results, errs := make([]ledger.ScheduleResult, 3*each), make([]error, 3*each)
		var all sync.WaitGroup
		for i := range results {
			by, room := ledger.Actor{By: fmt.Sprintf("writer %d", i), Why: "test"}, quota
			in := upsert(fmt.Sprintf("k%d", i%each), "1m")
			switch i / each {
			case 1: // of these, one finds the revision
				in = upsert("shared", fmt.Sprintf("%dm", i))
				in.IfRevision = 1
			case 2:
				in.JobID, room, by.Request = in.JobID+"-fails", 0, &ledger.Request{Principal: "p", Key: by.By,
					EncodeAnswer: func(any) ([]byte, error) { return nil, errNoAnswer }}
			}
			all.Go(func() {
				c := ledger.ChangeSchedulesRequest{Template: "t", Max: room, Items: []ledger.ScheduleChange{in}, Rules: timing{}, Actor: by}
				list, err := t.ChangeSchedules(t.ctx, c)
				errs[i] = err
				if err == nil {
					results[i] = list[0]
				}
			})
		}
		all.Wait()
		want := map[string]ledger.ScheduleEffect{}
		for i, got := range results {
			switch {
			case i >= 2*each && !errors.Is(errs[i], errNoAnswer) || i < 2*each && errs[i] != nil:
				t.Errorf("change %d: %v", i, errs[i])
			case errs[i] != nil:
			case errors.Is(got.Err, ledger.ErrQuota), errors.Is(got.Err, ledger.ErrOtherRevision):
			case got.Err != nil || got.Schedule.ChangedBy != fmt.Sprintf("writer %d", i):
				t.Errorf("change %d: %+v", i, got)
			default:
				want[got.Schedule.ChangedBy] = got.Effect
			}
		}
		if len(want) != quota {
			t.Errorf("%d changes were made, want %d", len(want), quota)
		}
		t.inQuota(quota)
		for _, a := range t.audit(ledger.AuditFilter{})[:quota] {
			if want[a.By] == "" || a.Count != 1 || (a.JobID == "t:shared") != (want[a.By] == ledger.ScheduleChanged) {
				t.Errorf("the audit has %+v; the effect is %q", a, want[a.By])
			}
			delete(want, a.By)
		}
	}},
}

var errNoAnswer = errors.New("no answer")

// scheduleRace is what writers of schedules were told.
type scheduleRace struct {
	mu     sync.Mutex
	made   []ledger.ScheduleResult
	err    error
	stop   atomic.Bool
	edited chan struct{} // lets the clock go on
}

func (r *scheduleRace) note(err error, results ...ledger.ScheduleResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
	for _, got := range results {
		if got.Err == nil && got.Effect != ledger.ScheduleUnchanged {
			r.made = append(r.made, got)
		} else if got.Err != nil && !errors.Is(got.Err, ledger.ErrNotFound) && r.err == nil {
			r.err = got.Err
		}
	}
}

// edit changes and deletes a schedule again and again.
func (r *scheduleRace) edit(t *fixture, store ledger.Store, key string, writer int) {
	for i := range 25 {
		in := upsert(key, fmt.Sprintf("%ds", 1+(i+writer)%4))
		in.Delete = i%5 == 4
		got, err := store.ChangeSchedules(t.ctx, ledger.ChangeSchedulesRequest{Template: "t", Items: []ledger.ScheduleChange{in}, Rules: timing{},
			Actor: someone})
		r.note(err, got...)
		r.edited <- struct{}{}
	}
}

func (r *scheduleRace) plan(t *fixture, store ledger.Store) {
	for {
		if r.stop.Load() {
			return
		}
		_, err := store.PlanSchedules(t.ctx, planner)
		r.note(err)
	}
}

// check compares the runs of a key with what its contents were to do while they held.
func (r *scheduleRace) check(t *fixture, key string) {
	t.Helper()
	var made []ledger.Schedule
	for _, got := range r.made {
		if got.Schedule.Key() == key {
			made = append(made, got.Schedule)
		}
	}
	slices.SortFunc(made, func(a, b ledger.Schedule) int { return cmp.Compare(a.Revision, b.Revision) })
	var want []string
	for i, s := range made {
		if s.Revision != int64(i+1) {
			t.Fatalf("revision %d of %s is the %d. change", s.Revision, key, i+1)
		}
		if !s.DeletedAt.IsZero() {
			continue
		}
		end := s.Watermark
		if i+1 < len(made) {
			end = made[i+1].Watermark
		} else if now, err := t.Schedule(t.ctx, s.JobID); err == nil {
			end = now.Watermark
		}
		every, _ := time.ParseDuration(s.Expr)
		want = append(want, runIDsAt(key, every, s.Watermark, end)...)
	}
	t.wantRunsOf(key, want)
}
