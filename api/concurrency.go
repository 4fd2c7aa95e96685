package api

import (
	"fmt"
	"net/http"
	"sync"
)

// concurrencyLimit limits how many requests of a kind are open at once: those of one
// identity, and all.
type concurrencyLimit struct {
	each, all  int
	code, kind string // of the refusal
	advice     string

	mu   sync.Mutex
	open int
	by   map[string]int
}

func newStreams() *concurrencyLimit {
	return &concurrencyLimit{each: 16, all: 256, code: "too_many_streams", kind: "streams", advice: "close one", by: map[string]int{}}
}

// newRequests bounds the requests in progress. They share the ledger's connections
// with the process's own work: when all of them wait, the work is still on time.
func newRequests() *concurrencyLimit {
	return &concurrencyLimit{each: 32, all: 128, code: "too_many_in_progress", kind: "requests", advice: "ask again after Retry-After", by: map[string]int{}}
}

// enter counts a request of an identity until leave is called.
func (c *concurrencyLimit) enter(who string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[who] >= c.each || c.open >= c.all {
		return nil, problem(http.StatusTooManyRequests, c.code, fmt.Sprintf("%d %s of this identity are open, and %d of this process; an identity may have %d, and the process %d: %s",
			c.by[who], c.kind, c.open, c.each, c.all, c.advice))
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
