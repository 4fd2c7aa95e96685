package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/buildinfo"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// version is set by the build (-ldflags "-X main.version=..."); a plain build
// says what the Go tool knows.
var version string

func buildVersion() string { return buildinfo.Version(version) }

func versionLine() string {
	return fmt.Sprintf("cronce %s, %s, time zones %s", buildVersion(), runtime.Version(), schedule.ZoneVersion())
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
					"version": buildVersion(), "go": runtime.Version(), "zones": schedule.ZoneVersion(),
					"zonesReleased": schedule.ZonesReleased().Format(time.DateOnly), "output": outputVersion,
				})
			}
			_, err := fmt.Fprintln(a.out, versionLine())
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
