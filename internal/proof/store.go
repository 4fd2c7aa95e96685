package proof

import (
	"context"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// Store is what a Witness stands before: what executors and operators ask of a
// ledger.
type Store interface {
	executor.Ledger
	List(context.Context, ledger.Filter) ([]ledger.Run, error)
	Jobs(context.Context) ([]ledger.JobStatus, error)
	Pause(ctx context.Context, jobID string, who ledger.Actor) error
	Resume(ctx context.Context, jobID string, who ledger.Actor) error
	Cancel(context.Context, ledger.Act) (ledger.Acted, error)
	Redrive(context.Context, ledger.Act) (ledger.Acted, error)
	Ack(context.Context, ledger.Act) (ledger.Acted, error)
	Backfill(context.Context, ledger.Backfill) (ledger.Backfilled, error)
	PurgeRuns(context.Context, ledger.Purge) (ledger.Purged, error)
}
