package postgres

import (
	"cmp"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// columns are outcomes as the parameters of recordSQL, an array a column: the
// outcomes, and their kinds.
type columns struct {
	order []int // where each came from in the outcomes

	kindOf            intArray // from 1 on
	runs              textArray
	started, finished timeArray

	kinds                         distinct[outcomeKind]
	tokens, states, reasons       textArray
	replayed                      boolArray
	failures, waits, ns, statuses intArray
	answers                       textArray
	codes, errs, details, owners  textArray
	waitsFor                      textArray
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
	waitsFor                   string
}

// columnsOf puts the outcomes in the order of their runs' ids, so that two
// records, or a record and an act, lock runs in one order.
func columnsOf(outcomes []ledger.Outcome) *columns {
	order, ids := make([]int, len(outcomes)), 0
	for i := range order {
		order[i] = i
		ids += len(outcomes[i].RunID)
	}
	slices.SortFunc(order, func(i, k int) int { return cmp.Compare(outcomes[i].RunID, outcomes[k].RunID) })
	c := newColumns(order, ids)
	for _, i := range order {
		c.add(&outcomes[i])
	}
	return c
}

func newColumns(order []int, ids int) *columns {
	n := len(order)
	return &columns{
		order: order, kindOf: newIntArray(n), runs: newTextArray(n, ids),
		started: newTimeArray(n), finished: newTimeArray(n),
		tokens: newTextArray(1, 0), states: newTextArray(1, 0), reasons: newTextArray(1, 0), replayed: newBoolArray(1),
		failures: newIntArray(1), waits: newIntArray(1), ns: newIntArray(1), statuses: newIntArray(1),
		answers: newTextArray(1, 0), codes: newTextArray(1, 0), errs: newTextArray(1, 0), details: newTextArray(1, 0),
		owners: newTextArray(1, 0), waitsFor: newTextArray(1, 0),
	}
}

func (c *columns) add(o *ledger.Outcome) {
	a := &o.Attempt
	k := outcomeKind{
		token: o.Token, state: o.State, reason: o.Reason, replayed: o.Replayed, failures: o.Failures,
		wait: microseconds(max(o.Wait, 0)), n: a.N, answer: a.Answer, status: a.Status,
		code: clean(a.Code), error: clean(a.Error), detail: clean(a.Detail), owner: a.Owner, waitsFor: waitsFor(o),
	}
	number, isNew := c.kinds.add(k)
	if isNew {
		c.addKind(k)
	}
	c.kindOf.add(number)
	c.runs.add(o.RunID)
	c.started.addOrNull(a.StartedAt)
	c.finished.addOrNull(a.FinishedAt)
}

// waitsFor is why a run that is given back was not sent.
func waitsFor(o *ledger.Outcome) string {
	if o.State != ledger.Planned {
		return ""
	}
	return o.WaitsFor.Kept().String()
}

func (c *columns) addKind(k outcomeKind) {
	c.tokens.add(k.token)
	c.states.add(string(k.state))
	c.reasons.add(string(k.reason))
	c.replayed.add(k.replayed)
	c.failures.add(int64(k.failures))
	c.waits.add(k.wait)
	c.ns.add(int64(k.n))
	c.answers.add(string(k.answer))
	c.statuses.add(int64(k.status))
	c.codes.add(k.code)
	c.errs.add(k.error)
	c.details.add(k.detail)
	c.owners.add(k.owner)
	c.waitsFor.add(k.waitsFor)
}

func (c *columns) arguments() []any {
	return []any{
		c.kindOf, c.runs, c.started, c.finished,
		c.tokens, c.states, c.reasons, c.replayed, c.failures, c.waits,
		c.ns, c.answers, c.statuses, c.codes, c.errs, c.details, c.owners, c.waitsFor,
	}
}
