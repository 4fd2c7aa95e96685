package cli

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

func (a *app) versionLine() string {
	return fmt.Sprintf("cronce %s, %s, time zones %s", a.version, runtime.Version(), schedule.ZoneVersion())
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of cronce, Go and the time zone database",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.warnOfOldZones()
			if a.encoded() {
				return a.encode(map[string]any{
					"version": a.version, "go": runtime.Version(), "zones": schedule.ZoneVersion(),
					"zonesReleased": schedule.ZonesReleased().Format(time.DateOnly), "output": outputVersion,
				})
			}
			_, err := fmt.Fprintln(a.out, a.versionLine())
			return err
		},
	}
}

// warnOfOldZones warns of a time zone database that is more than a year old.
func (a *app) warnOfOldZones() {
	if text := jobs.ZonesWarning(a.now()); text != "" {
		fmt.Fprintln(a.err, "warning:", text)
	}
}
