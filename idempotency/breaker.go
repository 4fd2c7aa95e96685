package idempotency

import (
	"sync"
	"time"
)

// breakers has one breaker a host. The zero value is ready.
type breakers struct {
	mu    sync.Mutex
	hosts map[string]*breaker
}

func (b *breakers) of(host string) *breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hosts == nil {
		b.hosts = map[string]*breaker{}
	}
	if b.hosts[host] == nil {
		b.hosts[host] = &breaker{}
	}
	return b.hosts[host]
}

// breaker is closed until enough failures in a row open it; when its time is
// over it lets one request try, whose outcome closes or opens it again.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time // open until then; zero: closed
}

func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return true
	}
	if time.Now().Before(b.until) {
		return false
	}
	b.until = time.Now().Add(time.Minute) // nobody else tries before this one is back
	return true
}

func (b *breaker) done(failed bool, limit int, open time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !failed {
		b.failures, b.until = 0, time.Time{}
		return
	}
	b.failures++
	if limit > 0 && b.failures >= limit {
		b.until = time.Now().Add(open)
	}
}

// abandon lets the next request try in the place of one that was given up.
func (b *breaker) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.until.IsZero() {
		b.until = time.Now()
	}
}
