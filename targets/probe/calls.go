package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// atOnce is how many calls are sent at the same time.
const atOnce = 4

// MaxCalls is the maximum number of calls of a probe; a probe of long work makes more.
const MaxCalls = 4 + atOnce

// prober makes a probe's calls and keeps what came of them.
type prober struct {
	Config
	began time.Time

	calls    []Call
	first    Call
	again    Call
	mismatch Call
	together []Call
	keyless  Call
}

// Call is one call of a probe and its result.
type Call struct {
	Call    string              `json:"call"` // what it tests, in words
	Key     string              `json:"key"`
	Status  int                 `json:"status"`
	Answer  ledger.Answer       `json:"answer"` // what the scheduler would take it for
	Code    string              `json:"code,omitempty"`
	Headers map[string][]string `json:"headers"`
	Error   string              `json:"error,omitempty"`
	Took    string              `json:"took"`

	got   targets.ProbeResult
	at    time.Time
	still int // how often it was answered 202 before
}

// run makes the calls, up to the first if that is not accepted. Its error is
// that of being interrupted.
func (p *prober) run(ctx context.Context) error {
	key := p.newKey()
	body := p.Job.RequestBody(key, p.began)
	p.first = p.keep(p.call(ctx, "first", key, body))
	if p.first.done() {
		p.again = p.keep(p.call(ctx, "the same again", key, body))
		p.mismatch = p.keep(p.ask(ctx, "a changed body", key, p.other(body)))
		p.atTheSameTime(ctx)
		p.keyless = p.keep(p.ask(ctx, "without a key", "", body))
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return nil
}

func (p *prober) keep(c Call) Call {
	p.calls = append(p.calls, c)
	return c
}

func (p *prober) atTheSameTime(ctx context.Context) {
	key := p.newKey()
	body := p.Job.RequestBody(key, p.began)
	p.together = make([]Call, atOnce)
	var calls sync.WaitGroup
	for i := range p.together {
		calls.Go(func() { p.together[i] = p.call(ctx, "at the same time", key, body) })
	}
	calls.Wait()
	p.calls = append(p.calls, p.together...)
}

// call makes a call. Of long work it asks again as the scheduler does, until the work
// is done or its time is over.
func (p *prober) call(ctx context.Context, name, key string, body []byte) Call {
	end := time.Now().Add(p.Job.Async.Within)
	for still := 0; ; still++ {
		c := p.ask(ctx, name, key, body)
		c.still = still
		wait := cmp.Or(c.got.RetryAfter, p.Job.Async.Poll)
		if c.Answer != ledger.AnswerAccepted || time.Now().Add(wait).After(end) {
			return c
		}
		select {
		case <-ctx.Done():
			return c
		case <-time.After(wait):
		}
	}
}

// ask makes one call.
func (p *prober) ask(ctx context.Context, name, key string, body []byte) Call {
	ctx, cancel := context.WithTimeout(ctx, p.Job.Timeout)
	defer cancel()
	c := executor.Call{Registry: p.Registry, Work: ledger.Work{
		RunID: key, JobID: p.Job.ID, ScheduledAt: p.began, Attempt: 1,
		SendBefore: time.Now().Add(p.Job.Retry.Horizon), Call: executor.FrozenCall(p.Job, key, p.began),
	}}
	c.Call.Body = body
	var change func(http.Header)
	if key == "" {
		c.RunID = p.newKey()
		change = func(h http.Header) { h.Del(cmp.Or(p.Job.Key.Header, jobs.HeaderIdempotencyKey)) }
	}
	start := time.Now()
	got := p.Targets.Probe(ctx, c, change)
	return Call{
		Call: name, Key: key, Status: got.Status, Answer: got.Kind, Code: got.Code, Headers: got.Header, Error: got.Error,
		Took: time.Since(start).Round(time.Millisecond).String(), got: got, at: time.Now(),
	}
}

// other is a body that says something else: one more field where it is an
// object.
func (p *prober) other(body []byte) []byte {
	if p.ChangedBody != "" {
		return []byte(p.ChangedBody)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object == nil {
		object = map[string]json.RawMessage{"body": body}
	}
	object["cronceProbe"] = json.RawMessage(`"a changed body"`)
	changed, err := json.Marshal(object)
	if err != nil {
		return []byte(`{"cronceProbe":"a changed body"}`)
	}
	return changed
}

// accepted reports whether the target took the call for work, done or not.
func (c Call) accepted() bool { return c.done() || c.Answer == ledger.AnswerAccepted }

func (c Call) done() bool { return c.Answer == ledger.AnswerFresh || c.Answer == ledger.AnswerReplayed }

func (c Call) field(name string) string { return c.got.Header.Get(name) }

// alike reports whether two answers are the same to a client. A reply whose
// body the target says it has not stored is compared without it.
func alike(a, b Call) bool {
	return a.Status == b.Status && a.field("Location") == b.field("Location") &&
		(a.got.BodySHA256 == b.got.BodySHA256 && a.field("Content-Type") == b.field("Content-Type") ||
			a.field("Idempotency-Body") == "omitted" || b.field("Idempotency-Body") == "omitted")
}
