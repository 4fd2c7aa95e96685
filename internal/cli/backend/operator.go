package backend

import (
	"context"
	"io"
	"time"

	"github.com/cronce/cronce/api/remote"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Operator answers and acts for the commands: a ledger that this process has
// opened, or a server.
type Operator interface {
	Status(context.Context) (operations.Status, error)
	Jobs(context.Context, operations.Selection) ([]operations.Job, error)
	Job(ctx context.Context, id string) (operations.JobDetail, error)
	Revisions(ctx context.Context, jobID, from, to string) (operations.RevisionDiff, error)
	Runs(context.Context, operations.Selection, ledger.Filter) (operations.RunPage, error)
	Run(ctx context.Context, id string) (operations.RunDetail, error)
	Export(context.Context, operations.Export, io.Writer) error
	Changes(ctx context.Context, sel operations.Selection, after string) (operations.Changes, error)
	Members(context.Context, operations.MemberQuery) (operations.MemberPage, error)
	Why(ctx context.Context, jobID, at, member string) (operations.Explanation, error)
	// DoAction does one of operations.Actions, and reads its answer into a value.
	DoAction(ctx context.Context, action, id string, ask operations.ActionRequest, answer any) error
	Incidents(context.Context, operations.Selection, ledger.IncidentFilter) (operations.IncidentPage, error)
	Incident(ctx context.Context, id int64) (operations.Incident, error)
	Templates(context.Context) ([]operations.Template, error)
	Schedule(ctx context.Context, template, key string) (operations.Schedule, error)
	ListSchedules(ctx context.Context, template, prefix string, limit int) ([]operations.Schedule, error)
	ChangeSchedules(ctx context.Context, template string, changes []operations.ScheduleChange,
		who ledger.Actor) ([]operations.ScheduleOutcome, error)
	Pauses(ctx context.Context, ended bool) ([]operations.Pause, error)
}

// Operator returns the server of --server, or else the ledger that open opens. done closes it. If no ledger exists yet,
// a job of jobIDs that the registry does not have is refused first: a mistyped job is the more likely mistake.
func (b *Backend) Operator(ctx context.Context, open func(context.Context) (ledger.Store, error), jobIDs ...string) (o Operator, done func(), err error) {
	if b.Server != "" {
		s, err := b.Remote()
		return s, func() {}, err
	}
	if err := b.refuseUnknownJobs(jobIDs); err != nil {
		return nil, nil, err
	}
	l, err := open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return b.OperationsOn(l), func() {
		if l != nil {
			l.Close()
		}
	}, nil
}

// refuseUnknownJobs refuses jobs that only a ledger could know, where there is none.
func (b *Backend) refuseUnknownJobs(ids []string) error {
	if b.LedgerExists() {
		return nil
	}
	reg, err := b.Registry()
	if err != nil {
		return nil //nolint:nilerr // what is missing first is the ledger
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		if _, err := Job(reg, id); err != nil {
			return err
		}
	}
	return nil
}

// Remote returns a client of the server of --server. It needs no ledger and no registry.
func (b *Backend) Remote() (*remote.Client, error) {
	if b.DB != "" {
		return nil, command.Usage("--server and --db name two different places; give one")
	}
	s, err := remote.New(remote.Config{URL: b.Server, Token: b.Getenv("CRONCE_TOKEN", ""), Version: b.Version})
	if err != nil {
		return nil, command.Usage("--server: %w", err)
	}
	return s, nil
}

// TakenOver is the interval at which a command looks at a run that another process has leased.
const TakenOver = 500 * time.Millisecond
