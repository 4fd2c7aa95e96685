package try

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

// atOnce is the number of calls that are sent at the same time, without the one whose answer is
// lost.
const atOnce = 2

// MaxCalls is the maximum number of calls of a trial; a trial of long work makes more.
const MaxCalls = 1 + atOnce + 3

// maxWait is the longest wait for a key that another call works on.
const maxWait = 5 * time.Second

// trial makes the calls of one run and keeps what came of them.
type trial struct {
	Config
	at     time.Time // the scheduled time
	runID  string
	unused bool // no other run has the key

	calls    []Call
	lost     Call   // the first calls, at the same time: the one whose answer was lost
	together []Call // and the others
	first    Call   // the first of them that was done
	again    Call
	mismatch Call
	keyless  Call
}

// Call is one call of a trial and its result.
type Call struct {
	Call    string              `json:"call"` // what it tests, in words
	Key     string              `json:"key"`
	Status  int                 `json:"status"`
	Answer  ledger.AnswerKind   `json:"answer"` // what the scheduler would take it for
	Code    string              `json:"code,omitempty"`
	Headers map[string][]string `json:"headers"`
	Error   string              `json:"error,omitempty"`
	Took    string              `json:"took"`

	got   targets.ProbeResult
	at    time.Time
	still int // how often it was answered 202 before
}

// run makes the calls, up to the first ones if none of those is accepted. Its error is that
// of being interrupted.
func (t *trial) run(ctx context.Context) error {
	body := t.Job.RequestBody(t.runID, t.at)
	t.start(ctx, body)
	if t.worked() {
		t.again = t.keep(t.call(ctx, "the same again", body))
		t.mismatch = t.keep(t.ask(ctx, "a changed body", t.other(body), targets.ProbeOptions{}))
		t.keyless = t.keep(t.ask(ctx, "without a key", body, targets.ProbeOptions{Edit: func(h http.Header) { h.Del(t.keyHeader()) }}))
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return nil
}

func (t *trial) keyHeader() string { return cmp.Or(t.Job.Key.Header, jobs.HeaderIdempotencyKey) }

func (t *trial) keep(c Call) Call {
	t.calls = append(t.calls, c)
	return c
}

// start sends the first calls at the same time, and hangs up on one of them as its answer
// arrives. If no other call is done, it asks once more.
func (t *trial) start(ctx context.Context, body []byte) {
	t.together = make([]Call, atOnce)
	var calls sync.WaitGroup
	calls.Go(func() { t.lost = t.ask(ctx, "its answer lost", body, targets.ProbeOptions{HangUp: true}) })
	for i := range t.together {
		calls.Go(func() { t.together[i] = t.call(ctx, "at the same time", body) })
	}
	calls.Wait()
	t.calls = append(append(t.calls, t.lost), t.together...)
	for _, c := range t.together {
		t.first = c
		if t.first.done() {
			return
		}
	}
	if t.first.later() {
		wait(ctx, min(cmp.Or(t.first.got.RetryAfter, time.Second), maxWait))
		t.first = t.keep(t.call(ctx, "after the wait", body))
	}
}

// call makes a call. Of long work it asks again as the scheduler does, until the work
// is done or its time is over.
func (t *trial) call(ctx context.Context, name string, body []byte) Call {
	end := time.Now().Add(t.Job.Async.Within)
	for still := 0; ; still++ {
		c := t.ask(ctx, name, body, targets.ProbeOptions{})
		c.still = still
		pause := cmp.Or(c.got.RetryAfter, t.Job.Async.Poll)
		if c.Answer != ledger.AnswerAccepted || time.Now().Add(pause).After(end) || !wait(ctx, pause) {
			return c
		}
	}
}

// wait reports whether the time has passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// worked reports whether the target did the work of one of the first calls.
func (t *trial) worked() bool { return t.lost.done() || t.first.done() }

// ask makes one call.
func (t *trial) ask(ctx context.Context, name string, body []byte, o targets.ProbeOptions) Call {
	ctx, cancel := context.WithTimeout(ctx, t.Job.Timeout)
	defer cancel()
	c := executor.Call{Registry: t.Registry, Work: ledger.Work{
		RunID: t.runID, JobID: t.Job.ID, ScheduledAt: t.at, Attempt: 1,
		SendBefore: time.Now().Add(t.Job.Retry.Horizon), Call: executor.FrozenCall(t.Job, t.runID, t.at),
	}}
	c.Call.Body = body
	start := time.Now()
	got := t.Targets.Probe(ctx, c, o)
	key := c.Key()
	if o.Edit != nil {
		key = ""
	}
	return Call{
		Call: name, Key: key, Status: got.Status, Answer: got.Kind, Code: got.Code, Headers: got.Header, Error: got.Error,
		Took: time.Since(start).Round(time.Millisecond).String(), got: got, at: time.Now(),
	}
}

// other returns a body that says something else: one more field where it is an
// object.
func (t *trial) other(body []byte) []byte {
	if t.ChangedBody != "" {
		return []byte(t.ChangedBody)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object == nil {
		object = map[string]json.RawMessage{"body": body}
	}
	object["cronceTry"] = json.RawMessage(`"a changed body"`)
	changed, err := json.Marshal(object)
	if err != nil {
		return []byte(`{"cronceTry":"a changed body"}`)
	}
	return changed
}

// accepted reports whether the target took the call for work, done or not.
func (c Call) accepted() bool { return c.done() || c.Answer == ledger.AnswerAccepted }

func (c Call) done() bool { return c.Answer == ledger.AnswerFresh || c.Answer == ledger.AnswerReplayed }

// later reports whether the target asked the caller to come back.
func (c Call) later() bool {
	return c.Answer == ledger.AnswerInProgress || c.Answer == ledger.AnswerThrottled
}

func (c Call) field(name string) string { return c.got.Header.Get(name) }

// alike reports whether two answers are the same to a client. A reply whose
// body the target says it has not stored is compared without it.
func alike(a, b Call) bool {
	return a.Status == b.Status && a.field("Location") == b.field("Location") &&
		(a.got.BodySHA256 == b.got.BodySHA256 && a.field("Content-Type") == b.field("Content-Type") ||
			a.field("Idempotency-Body") == "omitted" || b.field("Idempotency-Body") == "omitted")
}
