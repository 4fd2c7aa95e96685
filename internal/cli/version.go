package cli

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/schedule"
)

func (a *app) versionLine() string {
	return fmt.Sprintf("cronce %s, %s, time zones %s", a.Version, runtime.Version(), schedule.ZoneVersion())
}

// versionCommand prints the versions that decide on results: the time zone database decides when jobs are due, and
// "output" is the version of all JSON that commands print.
func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of cronce, Go and the time zone database",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.WarnOfOldZones()
			if a.Encoded() {
				return a.Encode(map[string]any{
					"version": a.Version, "go": runtime.Version(), "zones": schedule.ZoneVersion(),
					"zonesReleased": schedule.ZonesReleased().Format(time.DateOnly), "output": command.OutputVersion,
				})
			}
			_, err := fmt.Fprintln(a.Out, a.versionLine())
			return err
		},
	}
}
