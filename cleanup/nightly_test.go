package cleanup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func detail(t *testing.T, a executor.Answer) (r cleanup.Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Detail), &r); err != nil {
		t.Fatalf("the detail %q: %v", a.Detail, err)
	}
	return r
}

func TestNightlyRunKeepsCountsPerScope(t *testing.T) {
	b := &batches{rows: []int{3, 2}}
	p := purging(t, cleanup.Store{Name: "db", Open: b.store})
	p.Runs = &fakeRuns{runs: 4}
	a := cleanup.Nightly{Purge: p}.Call(t.Context(), executor.Call{})
	r := detail(t, a)
	if a.Kind != ledger.AnswerFresh || r.Deleted != 5 || r.Runs != 4 || fmt.Sprint(r.Scopes) != "[{a 5}]" {
		t.Errorf("%+v", a)
	}
}

func TestNightlyRunFailsWhenAStoreDoesAndSaysWhatTheOthersDid(t *testing.T) {
	good, bad := &batches{rows: []int{2}}, &batches{rows: []int{3}, err: idempotency.ErrUnavailable}
	p := purging(t, cleanup.Store{Name: "bad", Open: bad.store}, cleanup.Store{Name: "good", Open: good.store})
	a := cleanup.Nightly{Purge: p}.Call(t.Context(), executor.Call{})
	if a.Kind != ledger.AnswerFailed || !strings.Contains(a.Error, "key store bad") || detail(t, a).Deleted != 5 {
		t.Errorf("%+v", a)
	}
}

func TestNightlyRunEndsBeforeItsTimeoutAndReportsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batches{took: time.Minute}
		for range 600 {
			b.rows = append(b.rows, 3)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		a := cleanup.Nightly{Purge: purging(t, cleanup.Store{Name: "db", Open: b.store})}.Call(ctx, executor.Call{})
		r := detail(t, a)
		if a.Kind != ledger.AnswerFresh || r.Deleted != 54*3 || r.Remaining() != 546*3 {
			t.Errorf("deleted %d, left %d: %+v", r.Deleted, r.Remaining(), a)
		}
		if took := time.Since(start); took != 54*time.Minute {
			t.Errorf("took %v of an hour", took)
		}
	})
}

func TestDetailHoldsTheLargestScopesThatFit(t *testing.T) {
	r := cleanup.Report{}
	for i := range 500 {
		r.Scopes = append(r.Scopes, cleanup.Scope{Scope: fmt.Sprintf("route:POST_/v1/things/%03d", i), Deleted: int64(i)})
		r.ByDefault = append(r.ByDefault, r.Scopes[i].Scope)
	}
	text := r.Detail(4096)
	var got cleanup.Report
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(text) > 4096 {
		t.Fatalf("%d bytes: %v", len(text), err)
	}
	if len(got.Scopes) < 20 || got.Omitted+len(got.Scopes) != 500 || len(got.ByDefault) != len(got.Scopes) {
		t.Errorf("%d scopes, %d omitted, %d by default", len(got.Scopes), got.Omitted, len(got.ByDefault))
	}
	if least := got.Scopes[0].Deleted; least != int64(got.Omitted) {
		t.Errorf("the smallest scope kept has %d keys, %d were left out", least, got.Omitted)
	}
}

func TestOverdue(t *testing.T) {
	last := time.Date(2026, 11, 20, 3, 31, 0, 0, time.UTC)
	const hour = time.Hour
	for _, tc := range []struct {
		rule    string
		cleanup jobs.Cleanup
		after   time.Duration
		want    bool
	}{
		{"36 hours are long enough", jobs.Cleanup{}, 36 * hour, false},
		{"over 36 hours", jobs.Cleanup{}, 36*hour + time.Second, true},
		{"a weekly purge is not due yet", jobs.Cleanup{Schedule: "30 3 * * 5"}, 6 * 24 * hour, false},
		{"a weekly purge, half a day late", jobs.Cleanup{Schedule: "30 3 * * 5"}, 7*24*hour + 12*hour, true},
		{"one that is switched off", jobs.Cleanup{DisabledBecause: "pg_cron does it"}, 1000 * hour, false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			j, _ := registry(t, tc.cleanup).Job(jobs.PurgeJobID)
			if got := cleanup.IsOverdue(j, last, last.Add(tc.after)); got != tc.want {
				t.Errorf("overdue: %t", got)
			}
		})
	}
}
