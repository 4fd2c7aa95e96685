package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// newEach draws a job with members.
func (p plan) newEach(r *rand.Rand) *jobs.Job {
	j := p.job(r, "each")
	j.Schedule = pick(r, "*/2 * * * *", "*/5 * * * *", "@every 90s", "rate(3 minutes)")
	j.MaxInFlight, j.Path = 0, j.Path+"/{{key}}"
	if j.Body != nil {
		j.Body = map[string]string{"member": "{{key}}", "run": "{{runId}}"}
	}
	j.Each = jobs.Each{Path: "/list", Max: 12, InFlight: pick(r, 0, 1, 3)}
	return &j
}

// editEach changes the call of members, perhaps while some have been called.
func (s *script) editEach() {
	if s.plan.each == nil {
		return
	}
	r := s.Dice("each", len(s.versions))
	edited := *s.plan.each
	edited.Path = fmt.Sprintf("/each/v%d/{{key}}", r.IntN(100))
	edited.Each.InFlight = pick(r, 0, 1, 3)
	s.plan.each = &edited
}

// someParent is a run that may have members.
func (s *script) someParent() string {
	list, err := s.ledger.List(context.Background(), ledger.Filter{JobID: "each", Limit: 20})
	s.must(err)
	if len(list) == 0 {
		return "each@none"
	}
	return list[s.IntN(len(list))].ID
}

// list serves the list of a parent's members, a page at a time. Each attempt gets another
// one. While there are faults, it may fail, have a key twice, or be answered with 202.
func (t *target) list(c executor.Call, _, _ string, r *rand.Rand) executor.Answer {
	now := t.w.faultRates
	if t.w.isCalm() {
		now = faultRates{}
	}
	time.Sleep(between(r, time.Millisecond, 50*time.Millisecond))
	t.mu.Lock()
	defer t.mu.Unlock()
	keys, perPage := t.keysOf(c)
	at, _ := strconv.Atoi(c.Page)
	last := at+perPage >= len(keys)
	page := append([]string{}, keys[at:min(at+perPage, len(keys))]...)
	switch {
	case time.Now().Before(t.down):
		return executor.Answer{Kind: ledger.AnswerThrottled, Status: 503}
	case chance(r, now.failing):
		return executor.Answer{Kind: ledger.AnswerFailed, Status: 500}
	case chance(r, now.broken):
		return executor.Answer{Kind: ledger.AnswerFresh, Status: 202}
	case chance(r, now.broken) && len(page) > 0:
		page, last = append(page, page[0]), true
	case last:
		t.lists[c.RunID] = append(t.lists[c.RunID], keys)
		t.w.note(func(tally *Tally) { tally.Lists++ })
	}
	a := executor.Answer{Kind: ledger.AnswerFresh, Status: 200, Keys: page}
	if !last {
		a.Next = strconv.Itoa(at + perPage)
	}
	return a
}

// keysOf draws the list of one attempt, and how much of it is on a page.
func (t *target) keysOf(c executor.Call) (keys []string, perPage int) {
	r := t.w.Dice("list of "+c.RunID, c.Attempt)
	n := r.IntN(10)
	for i := range n {
		key := fmt.Sprintf("m-%d", 3*i+r.IntN(3))
		if r.IntN(6) == 0 {
			key += " of ü/ber"
		}
		keys = append(keys, key)
	}
	return keys, 1 + r.IntN(6)
}
