package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Compare makes the same random calls of two stores, and fails if they differ: in an
// answer, in a row, a job or an event after any step, or, every ten steps, in an attempt.
// The same seed makes the same calls again.
//
// How long a store takes for a step does not matter: everything that depends on time is
// decided by hours, and compared to a quarter of an hour.
func Compare(t *testing.T, seed uint64, steps int, one, other Opened) {
	t.Helper()
	w := &twins{
		T: t, Rand: rand.New(rand.NewPCG(seed, 0)), ctx: t.Context(), both: [2]Opened{one, other},
		origin: time.Now(), jobs: []string{"a", "a-b", "b", "c.d", "e"},
	}
	w.begin()
	for i := range steps {
		if time.Since(w.origin) > 5*time.Minute {
			t.Log("the machine stands still: the rest of this life is left out")
			return
		}
		w.step()
		w.settle()
		w.compare()
		if i%10 == 9 || i == steps-1 {
			w.histories()
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(w.story, "\n"))
		}
	}
}

const (
	quarter   = 15 * time.Minute
	twinLease = 90 * time.Minute
	// twinHorizon and the retentions end between the hours and the scheduled times.
	twinHorizon = 5*time.Hour + quarter
)

// twins are two ledgers that are told the same.
type twins struct {
	*testing.T
	*rand.Rand
	ctx    context.Context
	both   [2]Opened
	origin time.Time // of the clock, as both read it
	hours  int       // passed since
	jobs   []string

	runs    []ledger.Run // those of the first, oldest first
	held    []ledger.Work
	tokens  int
	version int
	story   []string
}

// at is a job's i-th scheduled time; each job's are apart from every other's, and half
// an hour from the hours that pass.
func (w *twins) at(job string, i int) time.Time {
	base := w.origin.UTC().Truncate(time.Second).Add(-30 * time.Minute)
	return base.Add(time.Duration(i)*time.Hour + time.Duration(slices.Index(w.jobs, job))*time.Second)
}

// ask tells both the same and compares what they say.
func (w *twins) ask(what string, do func(ledger.Store) (any, error)) {
	w.Helper()
	var said [2]string
	for i, o := range w.both {
		got, err := do(o.Store)
		if said[i] = w.category(err); err == nil {
			said[i] = w.text(got)
		}
	}
	w.story = append(w.story, fmt.Sprintf("%dh %s: %.1000s", w.hours, what, said[0]))
	if said[0] != said[1] {
		at := 0
		for at < min(len(said[0]), len(said[1])) && said[0][at] == said[1][at] {
			at++
		}
		at = max(0, at-400)
		w.Errorf("%s: from the %dth byte on\n%.800s\n%.800s", what, at, said[0][at:], said[1][at:])
	}
}

func (w *twins) category(err error) string {
	for _, known := range []error{ledger.ErrNotFound, ledger.ErrPurged, ledger.ErrInvalidRun, ledger.ErrCannotRerun} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		w.Fatal(err)
	}
	return ""
}

// text is a value with its times to the quarter of an hour from the origin.
func (w *twins) text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(b, &plain); err != nil {
		w.Fatal(err)
	}
	b, err = json.Marshal(w.coarse(plain))
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

func (w *twins) coarse(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if v[k] = w.coarse(v[k]); v[k] == nil {
				delete(v, k) // an empty list, or none
			}
		}
		return v
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = w.coarse(v[i])
		}
	case string:
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
			if t.IsZero() {
				return nil
			}
			return t.Sub(w.origin).Round(quarter).String()
		}
	}
	return v
}

// compare reads all that the two hold.
func (w *twins) compare() {
	w.Helper()
	w.runs = nil
	w.ask("runs", func(s ledger.Store) (any, error) {
		runs, err := s.List(w.ctx, ledger.Filter{Limit: 100_000})
		if w.runs == nil {
			w.runs = slices.Clone(runs)
			slices.Reverse(w.runs)
		}
		return runs, err
	})
	w.ask("jobs", func(s ledger.Store) (any, error) { return s.Jobs(w.ctx) })
	w.ask("job states", func(s ledger.Store) (any, error) { return s.JobStates(w.ctx) })
	w.ask("counts", func(s ledger.Store) (any, error) {
		counts, err := s.Counts(w.ctx)
		maps.DeleteFunc(counts.Unfinished, func(_ ledger.State, n int) bool { return n == 0 })
		return counts, err
	})
	for _, job := range w.jobs {
		w.ask("events", func(s ledger.Store) (any, error) { return s.Events(w.ctx, job, 1000) })
	}
	w.ask("audit", w.audit)
	w.story = slices.DeleteFunc(w.story, func(s string) bool {
		return strings.Contains(s, "h runs: ") || strings.Contains(s, "h jobs: ") || strings.Contains(s, "h job states: ") || strings.Contains(s, "h counts: ") ||
			strings.Contains(s, "h events: ") || strings.Contains(s, "h audit: ")
	})
}

// audit is the newest of the audit. Their ids may have gaps.
func (w *twins) audit(s ledger.Store) (any, error) {
	page, err := s.Audit(w.ctx, ledger.AuditFilter{Limit: 200})
	for i := range page {
		page[i].ID = 0
	}
	return page, err
}

// histories reads every attempt.
func (w *twins) histories() {
	w.Helper()
	for _, r := range w.runs {
		w.ask("history", func(s ledger.Store) (any, error) {
			_, attempts, err := s.Get(w.ctx, r.ID)
			return attempts, err
		})
	}
}

// settle lets both give free slots away, which some do at once and others with
// the next claim.
func (w *twins) settle() {
	for _, o := range w.both {
		if _, err := o.Store.Claim(w.ctx, ledger.Claim{Owner: "p", Token: "settle", Limit: 1, Only: []string{"none"}, LeaseFor: time.Hour}); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *twins) token() string {
	w.tokens++
	return fmt.Sprint("token-", w.tokens)
}
