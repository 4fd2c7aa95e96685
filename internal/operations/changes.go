package operations

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Changes are the runs that changed after a position.
type Changes struct {
	Runs     []Run // as they are now
	Position string
	// Lost: the changes cannot be told; list the runs again.
	Lost bool
}

// ChangesEvery is how often a follower asks for changes.
const ChangesEvery = 500 * time.Millisecond

// askChanges bounds one look at the ledger for changes.
const askChanges = 5 * time.Second

// Changes returns what changed after a position, "" for the present one. The
// answer is at most ChangesEvery old.
func (s *Service) Changes(ctx context.Context, after string) (Changes, error) {
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
	return Changes{runsOf(got.Runs), got.Position, got.Lost}, nil
}

// Follow calls tell with every change after its start, until tell fails or the
// context ends, and then returns nil. It retries when the ledger fails.
func (s *Service) Follow(ctx context.Context, jobID string, tell func(Changes) error) error {
	if err := s.KnownJob(ctx, jobID); err != nil {
		return err
	}
	got, err := s.Changes(ctx, "")
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(ChangesEvery):
		}
		next, err := s.Changes(ctx, got.Position)
		if err != nil {
			continue
		}
		got = next
		if err := tell(got.Of(jobID)); err != nil {
			return err
		}
	}
}

// Of are the changes of a job's runs; "" is every job.
func (c Changes) Of(jobID string) Changes {
	if jobID == "" {
		return c
	}
	of := Changes{Position: c.Position, Lost: c.Lost}
	for _, r := range c.Runs {
		if r.JobID == jobID {
			of.Runs = append(of.Runs, r)
		}
	}
	return of
}
