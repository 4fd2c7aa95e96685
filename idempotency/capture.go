package idempotency

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// capture holds a handler's reply back until its work is committed, however
// often the handler flushes it. So no client has a part of a reply whose work
// is rolled back, and none keeps a transaction open by reading slowly.
type capture struct {
	client http.ResponseWriter
	header http.Header // the handler's to set, until it gives the status; nil: not asked for
	final  http.Header // as it was then; nil: none
	status int
	body   bytes.Buffer
	limit  int   // of the body, in bytes
	err    error // ErrReplyTooLarge, once the body has outgrown the limit

	mu   sync.Mutex // of all that follows client: a goroutine may outlive the handler
	over bool       // the handler has returned
}

var errOver = errors.New("the handler has returned, and its reply is complete")

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

// WriteHeader panics on an invalid status, as net/http does: here and not after the
// commit, when the reply is sent. A switch of protocols cannot be held back.
func (c *capture) WriteHeader(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeHeader(status)
}

func (c *capture) writeHeader(status int) {
	if status < 100 || status > 999 || status == http.StatusSwitchingProtocols {
		panic(fmt.Sprintf("invalid WriteHeader code %d", status))
	}
	// Informational replies would tell of work that is not committed.
	if c.status != 0 || status < 200 || c.over {
		return
	}
	c.status = status
	if len(c.header) > 0 {
		c.final = c.header.Clone()
	}
}

// Write fails once the body is over the limit; the work is then rolled back,
// whatever the handler makes of the error.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return 0, errOver
	}
	c.writeHeader(http.StatusOK)
	if c.err == nil && c.body.Len()+len(p) > c.limit {
		c.err = fmt.Errorf("%w: it has more bytes than MaxReplyBody (%d)", ErrReplyTooLarge, c.limit)
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.body.Write(p)
}

// Flush sends nothing: the reply is complete, for the client, when it is
// committed.
func (c *capture) Flush() { c.WriteHeader(http.StatusOK) }

// Reset discards the reply that the handler has written, for an adapter whose handler
// failed after it. A reply that was too large still fails the work.
func (c *capture) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.header, c.final, c.status = nil, nil, 0
		c.body.Reset()
	}
}

// SetReadDeadline, SetWriteDeadline and EnableFullDuplex are what
// [http.ResponseController] looks for. There is no Unwrap, through which a
// handler could take the connection.
func (c *capture) SetReadDeadline(at time.Time) error {
	return http.NewResponseController(c.client).SetReadDeadline(at)
}

func (c *capture) SetWriteDeadline(at time.Time) error {
	return http.NewResponseController(c.client).SetWriteDeadline(at)
}

func (c *capture) EnableFullDuplex() error {
	return http.NewResponseController(c.client).EnableFullDuplex()
}

// send gives the client the reply, and tells it when the key is forgotten.
func (c *capture) send(expires time.Time) {
	merge(c.client.Header(), c.final)
	tellExpiry(c.client.Header(), expires)
	c.client.WriteHeader(c.status)
	c.client.Write(c.body.Bytes())
}

// reply ends the reply and is what is stored of it: a body of up to most bytes, and the
// headers of these names. It panics if the handler has announced another length: the
// client would wait for the rest, or get a part.
func (c *capture) reply(names []string, most int) Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeHeader(http.StatusOK)
	c.over = true
	if length := c.final.Get("Content-Length"); length != "" && c.err == nil && c.status != http.StatusNoContent &&
		c.status != http.StatusNotModified && length != strconv.Itoa(c.body.Len()) {
		panic(fmt.Sprintf("the reply has %d bytes, and its Content-Length is %s", c.body.Len(), length))
	}
	disown(c.final)
	r := Reply{Status: c.status, Header: storedHeader(c.final, names), Omitted: c.body.Len() > most}
	if !r.Omitted {
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
