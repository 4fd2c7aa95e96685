package ledgertest

import (
	"context"

	"github.com/cronce/cronce/ledger"
)

// Assignments returns those of all jobs.
func Assignments(ctx context.Context, s ledger.Store, version string) (all []ledger.JobAssignment, err error) {
	for after := ""; ; after = all[len(all)-1].JobID {
		page, err := s.Assignments(ctx, version, after)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
	}
}
