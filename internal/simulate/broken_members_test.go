package simulate_test

import (
	"context"

	"github.com/cronce/cronce/ledger"
)

// piling adds a list to what an earlier attempt has left.
type piling struct{ ledger.Store }

func (s piling) FreezeMembers(ctx context.Context, f ledger.Freeze) (ledger.RecordResult, error) {
	f.First = false
	return s.Store.FreezeMembers(ctx, f)
}

// miscounting counts a success too many.
type miscounting struct{ ledger.Store }

func (s miscounting) MemberCounts(ctx context.Context, parents []string) (map[string]map[ledger.State]int, error) {
	counts, err := s.Store.MemberCounts(ctx, parents)
	for _, c := range counts {
		c[ledger.Succeeded]++
	}
	return counts, err
}
