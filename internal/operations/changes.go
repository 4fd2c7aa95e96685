package operations

import (
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Changes has the runs that changed after a position. A follower asks again with the Position of the answer.
type Changes struct {
	Runs     []Run  `json:"runs"`     // as they are now
	Position string `json:"position"` // where to continue
	// Lost: the changes cannot be told; list the runs again.
	Lost bool `json:"lost"`
}

// ChangesEvery is the time between two questions of a follower.
const ChangesEvery = 500 * time.Millisecond

// askChanges is the time within which the ledger has to answer a question for changes.
const askChanges = 5 * time.Second

// Changes returns what changed after a position, "" for the present one, in the runs of
// selected jobs. The answer is at most ChangesEvery old.
func (s *Service) Changes(ctx context.Context, sel Selection, after string) (Changes, error) {
	ids, templates, err := s.Select(ctx, sel)
	if err != nil {
		return Changes{}, err
	}
	age := ChangesEvery // followers soon have the same position
	if after == "" {
		age = 0
	}
	got, err := s.changes.get(ctx, after, age, func(ctx context.Context) (ledger.Changes, error) {
		ctx, cancel := context.WithTimeout(ctx, askChanges)
		defer cancel()
		return s.ledger.Changes(ctx, after)
	})
	if err != nil {
		return Changes{}, err
	}
	runs := slices.DeleteFunc(runsOf(ctx, got.Runs), func(r Run) bool {
		return ids != nil && !slices.Contains(ids, r.JobID) && !(templates && slices.Contains(ids, ledger.RegistryJobID(r.JobID)))
	})
	return Changes{runs, got.Position, got.Lost}, nil
}
