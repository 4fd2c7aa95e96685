package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/api/remote"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// operator answers and acts for the commands: a ledger that this process has
// opened, or a server.
type operator interface {
	Status(context.Context) (operations.Status, error)
	Jobs(context.Context) ([]operations.Job, error)
	Job(ctx context.Context, id string) (operations.JobDetail, error)
	Runs(context.Context, ledger.Filter) (operations.RunPage, error)
	Run(ctx context.Context, id string) (operations.RunDetail, error)
	Follow(ctx context.Context, jobID string, tell func(operations.Changes) error) error
	Why(ctx context.Context, jobID string, at time.Time) (operations.Explanation, error)
	Pause(ctx context.Context, jobID string, who ledger.Actor) (operations.JobActionResult, error)
	Resume(ctx context.Context, jobID string, who ledger.Actor) (operations.JobActionResult, error)
	Act(context.Context, operations.RunAction, ledger.Action) (operations.RunActionResult, error)
	Backfill(context.Context, operations.Backfill) (operations.Backfilled, error)
	Incidents(context.Context, ledger.IncidentFilter) (operations.IncidentPage, error)
	Incident(ctx context.Context, id int64) (operations.Incident, error)
	AckIncident(context.Context, ledger.IncidentAction) (operations.Incident, error)
}

// operator is the server of --server, else the ledger that open opens. Where there is no
// ledger yet, a job that the command names and the registry does not have is refused first.
func (a *app) operator(ctx context.Context, open func(context.Context) (ledger.Store, error), jobIDs ...string) (o operator, done func(), err error) {
	if a.server != "" {
		s, err := a.remote()
		return s, func() {}, err
	}
	if err := a.refuseUnknownJobs(jobIDs); err != nil {
		return nil, nil, err
	}
	l, err := open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return a.operationsOn(l), func() {
		if l != nil {
			l.Close()
		}
	}, nil
}

// refuseUnknownJobs refuses jobs that only a ledger could know, where there is none.
func (a *app) refuseUnknownJobs(ids []string) error {
	if a.ledgerExists() {
		return nil
	}
	reg, err := a.registry()
	if err != nil {
		return nil //nolint:nilerr // what is missing first is the ledger
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		if _, err := job(reg, id); err != nil {
			return err
		}
	}
	return nil
}

// remote is the server of --server.
func (a *app) remote() (*remote.Client, error) {
	if a.db != "" {
		return nil, usage("--server and --db name two different places; give one")
	}
	s, err := remote.New(remote.Config{URL: a.server, Token: a.env("CRONCE_TOKEN", ""), Version: a.version})
	if err != nil {
		return nil, &exit{exitUsage, fmt.Errorf("--server: %w", err)}
	}
	return s, nil
}

// remotely makes a run on a server and waits for its end, which the processes that
// serve bring about.
func (a *app) remotely(ctx context.Context, enter func(*remote.Client) (operations.Run, error)) error {
	s, err := a.remote()
	if err != nil {
		return err
	}
	run, err := enter(s)
	if err != nil {
		return err
	}
	for !run.State.Finished() {
		select {
		case <-ctx.Done():
			return a.printDriven(run)
		case <-time.After(takenOver):
		}
		if shown, err := s.Run(ctx, run.RunID); err == nil {
			run = shown.Run
		} else if ctx.Err() == nil {
			return fmt.Errorf("the run %s was entered and its end is not known; ask later with \"cronce runs show %s\": %w", run.RunID, run.RunID, err)
		}
	}
	return a.printDriven(run)
}
