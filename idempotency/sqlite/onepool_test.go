package sqlite_test

import (
	"context"
	"sync"
	"testing"
	"time"
)

// With a pool of one connection a call that waits for it holds nothing that the
// call at work needs for its end.
func TestACallThatWaitsForTheOnlyConnectionHoldsUpNobody(t *testing.T) {
	db := open(t, fresh(t))
	db.SetMaxOpenConns(1)
	k := kit(t, db, "")
	for _, key := range []string{"first", "second", "third"} {
		var both sync.WaitGroup
		_, err := k.Do(t.Context(), "s", key, nil, func(context.Context) error {
			before := db.Stats().WaitCount
			both.Go(func() {
				if _, err := k.Do(t.Context(), "s", key+" beside", nil, func(context.Context) error { return nil }); err != nil {
					t.Errorf("%s, beside: %v", key, err)
				}
			})
			for began := time.Now(); db.Stats().WaitCount == before && time.Since(began) < 10*time.Second; {
				time.Sleep(time.Millisecond)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
		both.Wait()
	}
}
