// Package operate shows jobs, runs and incidents to operators, and acts on them. A command reads flags, calls one query
// or action of package operations, on the ledger or on a server (--server), and prints the result. The rules are in
// package operations, so that API and dashboard answer the same.
//
// Nearly every command goes through ask in ask.go. Flags that several commands share are in runs.go (which jobs and
// runs), pause.go (who acts, and why), list.go (how many rows) and members.go. trigger.go alone makes calls: trigger
// and rerun wait for the end of their run.
package operate

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
)

type app struct{ *backend.Backend }

// Commands are status, jobs, schedules, why, trigger, backfill, runs, incidents, pauses and
// audit.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	jobs := command.Group("jobs", "List, show, compare, pause and resume jobs",
		a.jobsListCommand(), a.jobsShowCommand(), a.jobsDiffCommand(),
		a.pauseCommand(operations.PauseJob, "JOB", "Pause a job: its scheduled times are recorded as skipped (paused)"),
		a.pauseCommand(operations.ResumeJob, "JOB", "Resume a paused job; skipped times stay skipped (see backfill)"))
	runs, incidents, schedules := a.runsCommand(), a.incidentsCommand(), a.schedulesCommand()
	all := []*cobra.Command{jobs, runs, incidents, a.pausesCommand(), a.triggerCommand(), schedules}
	command.WithIDs(all...)
	schedules.AddCommand(a.schedulesImportCommand()) // it prints counts
	runs.AddCommand(a.runsExportCommand())           // an export has no IDs alone
	incidents.AddCommand(a.incidentsExportCommand())
	audit := command.Group("audit", "Export the actions of operators", a.auditExportCommand())
	all = append(all, audit, a.statusCommand(), a.whyCommand(), a.backfillCommand())
	command.FromServer(all...)
	return all
}
