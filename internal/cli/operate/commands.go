// Package operate shows jobs, runs and incidents to operators, and acts on them.
package operate

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
)

type app struct{ *backend.Backend }

// Commands are status, jobs, schedules, why, trigger, backfill, runs, incidents and pauses.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	all := []*cobra.Command{a.jobsCommand(), a.runsCommand(), a.incidentsCommand(), a.pausesCommand(), a.triggerCommand(), a.schedulesCommand()}
	command.WithIDs(all...)
	all = append(all, a.statusCommand(), a.whyCommand(), a.backfillCommand())
	command.FromServer(all...)
	return all
}
