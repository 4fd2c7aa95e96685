package api

import (
	"fmt"
	"net/http"
	"sync"
)

// concurrencyLimit limits how many requests are in progress: those of one identity, and
// all.
type concurrencyLimit struct {
	what                  string
	ofIdentity, ofProcess int

	mu   sync.Mutex
	open int
	by   map[string]int
}

// enter counts a request of an identity until leave is called.
func (c *concurrencyLimit) enter(who string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[who] >= c.ofIdentity || c.open >= c.ofProcess {
		return nil, problem(http.StatusTooManyRequests, "too_many_in_progress",
			fmt.Sprintf("%d %s of this identity are open, and %d of this process; "+
				"an identity may have %d, and the process %d: ask again after Retry-After",
				c.by[who], c.what, c.open, c.ofIdentity, c.ofProcess))
	}
	c.open++
	c.by[who]++
	return func() { c.leave(who) }, nil
}

func (c *concurrencyLimit) leave(who string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.by[who]--; c.by[who] == 0 {
		delete(c.by, who)
	}
}
