package targets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"net/http"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// ProbeResult is the result of one request of a probe.
type ProbeResult struct {
	executor.Answer
	// Header has those of the answer's fields that concern idempotency. A
	// value in which the target repeats a credential is not shown.
	Header http.Header
	// BodySHA256 is the hash of the answer's body, of its first 64 KiB where it
	// is longer. The body itself is not kept.
	BodySHA256 [sha256.Size]byte
}

// fieldsOfInterest are the response fields that say what a target does with
// keys, or that a replay has to repeat.
var fieldsOfInterest = []string{
	headerReplayed, headerExpires, "Idempotency-Body", "Retry-After", "Content-Type", "Location",
}

// ProbeOptions change one request of a probe.
type ProbeOptions struct {
	Edit   func(http.Header) // edits the request's fields before it is signed; nil: nothing
	HangUp bool              // close the connection after the answer's header: the body is lost
}

// Probe makes a call as Call does, authorization included, to see how a target
// treats keys: no circuit breaker stops it. It has the effects that the call has.
func (t *Targets) Probe(ctx context.Context, c executor.Call, o ProbeOptions) ProbeResult {
	to, ok := t.byName[c.Call.Target]
	if !ok {
		return ProbeResult{Answer: unsent(ledger.WaitTargetNotConfigured, "this process has no target "+quoted(c.Call.Target), 0)}
	}
	p := &probe{edit: o.Edit}
	if o.HangUp {
		ctx, p.hangUp = context.WithCancel(ctx)
		defer p.hangUp()
	}
	got := ProbeResult{Answer: t.attempt(ctx, to, c, p), Header: p.header}
	if p.body != nil {
		p.body.Sum(got.BodySHA256[:0])
	}
	return got
}

// probe looks over one request's shoulder; a nil one does nothing.
type probe struct {
	edit   func(http.Header)
	hangUp func() // nil: the answer is read
	header http.Header
	body   hash.Hash
	keep   bool // the body, in kept, instead of its hash
	kept   bytes.Buffer
}

func (p *probe) change(h http.Header) {
	if p != nil && p.edit != nil {
		p.edit(h)
	}
}

// see keeps what is of interest in an answer, and sums up its body as it is
// read.
func (p *probe) see(t *Targets, res *http.Response) {
	if p == nil {
		return
	}
	p.header = http.Header{}
	for _, name := range fieldsOfInterest {
		for _, value := range res.Header.Values(name) {
			if t.reveals(value, signaturesOf(res.Request.Header)) {
				value = "(not shown: it repeats the credentials)"
			}
			p.header.Add(name, value)
		}
	}
	if p.hangUp != nil {
		p.hangUp()
	}
	p.body = sha256.New()
	to := io.Writer(p.body)
	if p.keep {
		to = &p.kept
	}
	res.Body = tee{io.TeeReader(io.LimitReader(res.Body, maxBody), to), res.Body}
}

type tee struct {
	io.Reader
	io.Closer
}
