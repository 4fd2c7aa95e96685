package postgres

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// columns are outcomes as the parameters of recordSQL, an array a column: the
// outcomes, and their kinds.
type columns struct {
	order []int // where each came from in the outcomes

	kindOf            []int64 // from 1 on
	runs              []string
	started, finished []*time.Time

	kinds                         distinct[outcomeKind]
	tokens, states, reasons       []string
	replayed                      []bool
	failures, waits, ns, statuses []int64
	answers                       []string
	codes, errs, details, owners  []string
	waitsFor, progress            []string
}

// outcomeKind is what outcomes have in common.
type outcomeKind struct {
	token                      string
	state                      ledger.State
	reason                     ledger.Reason
	replayed                   bool
	failures                   int
	wait                       int64
	n                          int
	answer                     ledger.Answer
	status                     int
	code, error, detail, owner string
	waitsFor, progress         string
}

// columnsOf puts the outcomes in the order of their runs' ids, so that two
// records, or a record and an action, lock runs in one order.
func columnsOf(outcomes []ledger.Outcome) *columns {
	c := &columns{order: make([]int, len(outcomes))}
	for i := range c.order {
		c.order[i] = i
	}
	slices.SortFunc(c.order, func(i, k int) int { return cmp.Compare(outcomes[i].RunID, outcomes[k].RunID) })
	for _, i := range c.order {
		c.add(&outcomes[i])
	}
	return c
}

func (c *columns) add(o *ledger.Outcome) {
	a := &o.Attempt
	k := outcomeKind{
		token: o.Token, state: o.State, reason: o.Reason, replayed: o.Replayed, failures: o.Failures,
		wait: microseconds(max(o.Wait, 0)), n: a.N, answer: a.Answer, status: a.Status,
		code: sanitize(a.Code), error: sanitize(a.Error), detail: sanitize(a.Detail), owner: a.Owner, waitsFor: waitsFor(o),
		progress: ledger.StorableProgress(o.Progress),
	}
	number, isNew := c.kinds.add(k)
	if isNew {
		c.addKind(k)
	}
	c.kindOf = append(c.kindOf, number)
	c.runs = append(c.runs, o.RunID)
	c.started = append(c.started, orNull(a.StartedAt))
	c.finished = append(c.finished, orNull(a.FinishedAt))
}

// orNull is nil, which is sent as NULL, for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// waitsFor is why a run that is given back was not sent.
func waitsFor(o *ledger.Outcome) string {
	if o.State != ledger.Planned {
		return ""
	}
	return o.WaitReason.Storable().String()
}

func (c *columns) addKind(k outcomeKind) {
	c.tokens = append(c.tokens, k.token)
	c.states = append(c.states, string(k.state))
	c.reasons = append(c.reasons, string(k.reason))
	c.replayed = append(c.replayed, k.replayed)
	c.failures = append(c.failures, int64(k.failures))
	c.waits = append(c.waits, k.wait)
	c.ns = append(c.ns, int64(k.n))
	c.answers = append(c.answers, string(k.answer))
	c.statuses = append(c.statuses, int64(k.status))
	c.codes = append(c.codes, k.code)
	c.errs = append(c.errs, k.error)
	c.details = append(c.details, k.detail)
	c.owners = append(c.owners, k.owner)
	c.waitsFor = append(c.waitsFor, k.waitsFor)
	c.progress = append(c.progress, k.progress)
}

func (c *columns) arguments() []any {
	return []any{
		c.kindOf, c.runs, c.started, c.finished,
		c.tokens, c.states, c.reasons, c.replayed, c.failures, c.waits,
		c.ns, c.answers, c.statuses, c.codes, c.errs, c.details, c.owners, c.waitsFor, c.progress,
	}
}
