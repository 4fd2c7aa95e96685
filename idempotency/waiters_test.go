package idempotency_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

func TestAllWhoWaitedAreAnsweredByOneLookUp(t *testing.T) {
	other, late := stormOperation, stormOperation
	other.Payload = "another"
	late.SendBefore = time.Unix(1, 0)
	for rule, c := range map[string]struct {
		stored, late       bool
		others             []idempotency.Operation
		duplicates, did    int
		mismatches, begins int
	}{
		"of a key that is done":                           {stored: true, others: same(50), duplicates: 51, begins: 1},
		"of work that the leader did":                     {others: same(50), duplicates: 50, did: 1, begins: 1},
		"and those with another payload are refused":      {others: append(same(25), other, other), duplicates: 25, did: 1, mismatches: 2, begins: 1},
		"and those who come too late get what is stored":  {late: true, others: append(same(2), late), duplicates: 3, did: 1, begins: 1},
		"and one who waited alone looks as it always did": {stored: true, others: same(1), duplicates: 2, begins: 1},
	} {
		for entry := range entryPoints {
			t.Run(rule+", "+entry, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStorm(t, &fakeStore{late: c.late})
					if c.stored {
						_, err := entryPoints[entry](s, t.Context(), stormOperation)
						must(err)
						s.store.begins = 0
					}
					s.waiting(entry, stormOperation, c.others...)
					duplicates, did, mismatches := s.count(idempotency.ErrMismatch)
					if duplicates != c.duplicates || did != c.did || mismatches != c.mismatches || s.runs != 1 {
						t.Errorf("%d duplicates, %d did it, %d mismatches, %d runs; want %+v", duplicates, did, mismatches, s.runs, c)
					}
					s.asked(c.begins, 1)
				})
			})
		}
	}
}

// A leader who learns that another payload has the key knows its outcome too.
func TestACrowdWithAnotherPayloadCostsOneLookUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStorm(t, &fakeStore{record: &store.Record{State: store.StateDone, Fingerprint: "another's"}})
		s.waiting("Do", stormOperation, same(20)...)
		if _, _, mismatches := s.count(idempotency.ErrMismatch); mismatches != 21 {
			t.Errorf("%d were refused", mismatches)
		}
		s.asked(1, 1)
	})
}

// The leader's failure is nobody's but its own: those who waited lead in turn,
// until one of them knows the key's outcome.
func TestNothingButAStoredReplyIsShared(t *testing.T) {
	late := stormOperation
	late.SendBefore = time.Unix(1, 0)
	print, err := idempotency.PayloadFingerprint(stormOperation.Payload)
	must(err)
	lost := &store.Record{State: store.StateUnknown, Fingerprint: print}
	failed := errors.New("failed")
	const others = 10
	for rule, c := range map[string]struct {
		store         *fakeStore
		work          func(run int) error
		leader        idempotency.Operation
		refused       error
		duplicates    int
		did, refusals int
		begins, looks int
	}{
		"the work failed": {work: first(failed), leader: stormOperation,
			refused: failed, refusals: 1, did: 1, duplicates: others - 1, begins: 2, looks: 1},
		"the work panicked": {work: func(run int) error {
			if run == 1 {
				panic(failed)
			}
			return nil
		}, leader: stormOperation, refused: failed, refusals: 1, did: 1, duplicates: others - 1, begins: 2, looks: 1},
		"the commit failed, and its leader looked what came of it": {store: &fakeStore{onCommit: first(idempotency.ErrUnavailable)}, leader: stormOperation,
			refused: idempotency.ErrUnavailable, refusals: 1, did: 1, duplicates: others - 1, begins: 2, looks: 2},
		"the work ended its transaction, and its leader recorded that": {store: &fakeStore{onCommit: first(idempotency.ErrTxEnded)}, leader: stormOperation,
			refused: idempotency.ErrTxEnded, refusals: others + 1, begins: 3, looks: 1},
		"the store is down": {store: &fakeStore{onBegin: func(int) error { return idempotency.ErrUnavailable }}, leader: stormOperation,
			refused: idempotency.ErrUnavailable, refusals: others + 1, begins: others + 1},
		"the outcome of an external call is unknown": {store: &fakeStore{record: lost}, leader: stormOperation,
			refused: idempotency.ErrOutcomeUnknown, refusals: others + 1, begins: others + 1},
		"the leader came too late": {store: &fakeStore{late: true}, leader: late,
			refused: idempotency.ErrTooLate, refusals: 1, did: 1, duplicates: others - 1, begins: 2, looks: 1},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStorm(t, cmp.Or(c.store, &fakeStore{}))
				s.work = c.work
				s.waiting("Do", c.leader, same(others)...)
				duplicates, did, refusals := s.count(c.refused)
				if duplicates != c.duplicates || did != c.did || refusals != c.refusals {
					t.Errorf("%d duplicates, %d did it, %d refused; want %d, %d, %d", duplicates, did, refusals, c.duplicates, c.did, c.refusals)
				}
				s.asked(c.begins, c.looks)
			})
		})
	}
}

// first fails the first time.
func first(err error) func(n int) error {
	return func(n int) error {
		if n == 1 {
			return err
		}
		return nil
	}
}

// The leader may only be slow to read what is stored.
func TestThoseWhoWaitedLongEnoughLookForThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStorm(t, &fakeStore{onBegin: func(n int) error {
			if n > 1 {
				time.Sleep(time.Minute) // virtual
			}
			return nil
		}})
		for range 11 { // does it, leads, wait
			s.ask("Do", stormOperation)
			synctest.Wait()
		}
		if duplicates, did, _ := s.count(idempotency.ErrInProgress); duplicates != 10 || did != 1 {
			t.Errorf("%d duplicates, %d did it; want 10 and 1", duplicates, did)
		}
		s.asked(2, 9)
	})
}

// One who was to look for all and could not is the only one who hears of it.
func TestALookUpThatFailsIsMadeAgainByAnotherWhoWaited(t *testing.T) {
	failed := errors.New("failed")
	for rule, fail := range map[string]func(ctx context.Context, leave func()) error{
		"the store gave no answer": func(context.Context, func()) error { return failed },
		"its caller hung up": func(ctx context.Context, leave func()) error {
			leave()
			<-ctx.Done()
			return failed
		},
		"it panicked": func(context.Context, func()) error { panic(failed) },
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStorm(t, &fakeStore{})
				s.store.onLook = func(ctx context.Context, n int) error {
					if n > 3 {
						return nil
					}
					return fail(ctx, ctx.Value(leaveKey{}).(context.CancelFunc))
				}
				s.waiting("Do", stormOperation, same(10)...)
				duplicates, did, failures := s.count(failed)
				if duplicates != 7 || did != 1 || failures != 3 {
					t.Errorf("%d duplicates, %d did it, %d failed; want 7, 1, 3", duplicates, did, failures)
				}
				s.asked(1, 4)
			})
		})
	}
}

// A record may be gone again when it is looked up: its transaction was handed in
// and is rolled back, or it was purged.
func TestWhereNothingIsStoredOneOfThoseWhoWaitedLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStorm(t, &fakeStore{onBegin: func(int) error {
			time.Sleep(time.Second) // virtual: the others come meanwhile
			return nil
		}})
		s.store.onLook = func(_ context.Context, n int) error {
			if n == 1 {
				s.store.put(nil)
			}
			return nil
		}
		s.waiting("Do", stormOperation, same(10)...)
		if duplicates, did, _ := s.count(idempotency.ErrInProgress); duplicates != 9 || did != 2 {
			t.Errorf("%d duplicates, %d did it; want 9 and 2", duplicates, did)
		}
		s.asked(2, 2)
	})
}

// Nobody is answered by a look-up that began before he asked: the record may be
// expired since.
func TestWhoAsksDuringTheLookUpDoesNotShareIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStorm(t, &fakeStore{})
		looking, read := make(chan struct{}), make(chan struct{})
		s.store.onLook = func(context.Context, int) error { close(looking); <-read; return nil }
		s.waiting("Do", stormOperation, same(10)...)
		<-looking
		synctest.Wait()
		s.store.put(nil)
		s.ask("Do", stormOperation)
		synctest.Wait()
		if s.runs != 2 {
			t.Errorf("%d runs: a newcomer waits for a look-up that began before it asked", s.runs)
		}
		close(read)
		if duplicates, did, _ := s.count(idempotency.ErrInProgress); duplicates != 10 || did != 2 {
			t.Errorf("%d duplicates, %d did it; want 10 and 2", duplicates, did)
		}
	})
}

// All who share a reply send it at the same time, through whatever stands before
// the kit.
func TestASharedReplyIsNobodysToChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStorm(t, &fakeStore{})
		kit := s.kit.Handler(idempotency.Route{Scope: "s"}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", "e")
			w.Header().Set("Location", "e")
			w.Write([]byte("paid"))
		}))
		release := make(chan struct{})
		s.store.onBegin = func(int) error { <-release; return nil }
		for range 32 {
			s.all.Go(func() {
				r := httptest.NewRequest("POST", "/pay", nil)
				r.Header.Set(idempotency.HeaderKey, "k")
				w := httptest.NewRecorder()
				kit.ServeHTTP(meddler{w}, r)
				if got := fmt.Sprint(w.Header()["Etag"], w.Header()["Location"], w.Body); got != "[e! x] [e! x] paid" {
					t.Error(got)
				}
			})
		}
		synctest.Wait()
		close(release)
		s.all.Wait()
		s.asked(1, 1)
	})
}

// meddler is middleware that writes in a header, and adds to it, before it is sent.
type meddler struct{ http.ResponseWriter }

func (m meddler) WriteHeader(status int) {
	for _, name := range []string{"Etag", "Location"} {
		values := m.Header()[name]
		values[0] += "!"
		m.Header().Add(name, "x")
	}
	m.ResponseWriter.WriteHeader(status)
}
