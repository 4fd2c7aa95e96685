package operations_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
)

// A server whose answers always say that something is left does not keep a client for ever.
func TestAClientEndsAtAnswersWithoutProgress(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	acts := 0
	_, err := operations.ActOnAll(ctx, operations.ActionRequest{}, func(ctx context.Context, _ operations.ActionRequest) (operations.RunActionResult, error) {
		acts++
		return operations.RunActionResult{Remaining: 7, Counts: operations.ActionCounts{Changed: 1}}, ctx.Err()
	})
	if err == nil || acts != 2 {
		t.Errorf("%d requests, %v; want an error at the second", acts, err)
	}
	fills, from := 0, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	_, err = operations.BackfillAll(ctx, operations.Backfill{From: from}, func(ctx context.Context, _ operations.ActionRequest) (operations.Backfilled, error) {
		fills++
		return operations.Backfilled{Next: from}, ctx.Err()
	}, nil)
	if err == nil || fills != 1 {
		t.Errorf("%d requests, %v; want an error at the first", fills, err)
	}
}
