// Package operate shows jobs, runs and incidents to operators, and acts on them.
package operate

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
)

type app struct{ *backend.Backend }

// Commands are status, jobs, why, trigger, backfill, runs and incidents.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	return []*cobra.Command{a.statusCommand(), a.jobsCommand(), a.whyCommand(), a.triggerCommand(), a.backfillCommand(), a.runsCommand(), a.incidentsCommand()}
}
