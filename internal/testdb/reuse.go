package testdb

import (
	"sync"
	"testing"
)

// Reuse returns a function for the cases of a test that need a database each. It hands out
// what fresh makes for the test, and again once its case has ended and clean has emptied
// it: to make a database takes longer than most cases.
func Reuse(t testing.TB, fresh func(testing.TB) string, clean func(url string) error) func(testing.TB) string {
	t.Helper()
	var mu sync.Mutex
	free := []string{fresh(t)} // here, where it may skip the test
	take := func() (url string, found bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(free) == 0 {
			return "", false
		}
		url, free = free[len(free)-1], free[:len(free)-1]
		return url, true
	}
	return func(c testing.TB) string {
		c.Helper()
		url, found := take()
		if !found {
			url = fresh(t)
		}
		c.Cleanup(func() {
			if err := clean(url); err != nil {
				c.Logf("the case's database is not used again: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			free = append(free, url)
		})
		return url
	}
}
