package idempotency

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// capture holds a handler's reply back until its work is committed. A reply
// that outgrows the limit, or that the handler flushes, is sent on as it is
// made; should the commit then fail, the connection is cut, so that the client
// sees an incomplete reply and asks again.
type capture struct {
	client    http.ResponseWriter
	header    http.Header // the handler's to set, until it gives the status; nil: not asked for
	final     http.Header // as it was then; nil: none
	status    int
	body      bytes.Buffer
	limit     int
	streaming bool
}

func newCapture(client http.ResponseWriter, limit int) *capture {
	return &capture{client: client, limit: limit}
}

// Header is the reply's own; what outer middleware has set stays with it.
func (c *capture) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

// WriteHeader panics on what is no status, as net/http does: here and not after
// the commit, when the reply is sent.
func (c *capture) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", status))
	}
	// Informational replies would tell of work that is not committed.
	if c.status != 0 || status < 200 {
		return
	}
	c.status = status
	if len(c.header) > 0 {
		c.final = c.header.Clone()
	}
}

func (c *capture) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if !c.streaming && c.body.Len()+len(p) > c.limit {
		c.stream()
	}
	if c.streaming {
		return c.client.Write(p)
	}
	return c.body.Write(p)
}

// FlushError is what http.ResponseController calls.
func (c *capture) FlushError() error {
	c.WriteHeader(http.StatusOK)
	c.stream()
	return http.NewResponseController(c.client).Flush()
}

func (c *capture) Flush() { _ = c.FlushError() }

// stream sends what was held back. Without a Content-Length the reply is
// incomplete, for the client, until the handler's goroutine returns in peace.
func (c *capture) stream() {
	if c.streaming {
		return
	}
	c.streaming = true
	disown(c.final)
	merge(c.client.Header(), c.final)
	c.client.Header().Del("Content-Length")
	c.client.WriteHeader(c.status)
	c.client.Write(c.body.Bytes())
	c.body = bytes.Buffer{}
}

// send gives the client a reply that was held back, and tells it when the key is
// forgotten.
func (c *capture) send(expires time.Time) {
	merge(c.client.Header(), c.final)
	tellExpiry(c.client.Header(), expires)
	c.client.WriteHeader(c.status)
	c.client.Write(c.body.Bytes())
}

// reply is what is stored of it, with the headers of these names.
func (c *capture) reply(names []string) Reply {
	c.WriteHeader(http.StatusOK)
	disown(c.final)
	r := Reply{Status: c.status, Header: storedHeader(c.final, names), Omitted: c.streaming}
	if !c.streaming {
		r.Body = c.body.Bytes()
	}
	return r
}

// disown takes out what only the kit says of a reply: a handler that passes on
// the answer of another service may have it from there.
func disown(h http.Header) {
	delete(h, HeaderReplayed)
	delete(h, HeaderExpires)
	delete(h, HeaderBody)
}

func tellExpiry(h http.Header, at time.Time) {
	if !at.IsZero() {
		h[HeaderExpires] = []string{at.UTC().Format(ExpiresLayout)}
	}
}

// merge adds a copy of a reply's header to what outer middleware has set. Of
// those that are lists both count, such as the middleware's cookie and the
// handler's; of the others the reply's.
func merge(to, reply http.Header) {
	for name, values := range reply {
		switch name {
		case "Set-Cookie", "Vary", "Link":
			to[name] = slices.Concat(to[name], values)
		default:
			to[name] = slices.Clone(values)
		}
	}
}
