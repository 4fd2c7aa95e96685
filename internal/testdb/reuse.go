package testdb

import (
	"sync"
	"testing"
)

// Reuse returns a function for the cases of a test that need a database each, and perhaps
// connections to it. It hands out what fresh makes for the test, and again once its case
// has ended and clean has emptied it: to make a database and to connect takes longer than
// most cases.
func Reuse[D any](t testing.TB, fresh func(testing.TB) D, clean func(D) error) func(testing.TB) D {
	t.Helper()
	var mu sync.Mutex
	free := []D{fresh(t)} // here, where it may skip the test
	take := func() (d D, found bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(free) == 0 {
			return d, false
		}
		d, free = free[len(free)-1], free[:len(free)-1]
		return d, true
	}
	return func(c testing.TB) D {
		c.Helper()
		d, found := take()
		if !found {
			d = fresh(t)
		}
		c.Cleanup(func() {
			if err := clean(d); err != nil {
				c.Logf("the case's database is not used again: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			free = append(free, d)
		})
		return d
	}
}
