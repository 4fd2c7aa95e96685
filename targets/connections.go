package targets

import (
	"net/http"
	"sync"
	"time"
)

// connectionAge is the time for which a connection takes new calls. A busy connection would
// otherwise never end, and the calls of a target whose host has moved would go to the
// former address for ever.
const connectionAge = 30 * time.Second

// connections makes the calls of one transport after another, each for connectionAge.
// Calls that are in progress on a former one end there.
type connections struct {
	open func() *http.Transport

	mu              sync.Mutex
	opened          time.Time
	current, former *http.Transport // nil before the first call, and before the second transport
}

// RoundTrip implements http.RoundTripper. Its errors name the proxy, if there is one.
func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	t := c.transport()
	answer, err := t.RoundTrip(r)
	if err != nil && t.Proxy != nil {
		if proxy, _ := t.Proxy(r); proxy != nil {
			err = &proxyError{proxyAddress(proxy), err}
		}
	}
	return answer, err
}

// transport returns the current connections, and opens new ones once they are old.
func (c *connections) transport() *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || time.Since(c.opened) >= connectionAge {
		c.closeIdle()
		c.former, c.current, c.opened = c.current, c.open(), time.Now()
	}
	return c.current
}

// closeIdle closes the idle connections, and those in use once their calls have ended. It
// asks the former transport too: a call may have begun on it as it was replaced.
func (c *connections) closeIdle() {
	for _, t := range []*http.Transport{c.former, c.current} {
		if t != nil {
			t.CloseIdleConnections()
		}
	}
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeIdle()
}
