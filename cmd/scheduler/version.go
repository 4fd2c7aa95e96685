package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/schedule"
)

// version is set by the build (-ldflags "-X main.version=..."); a plain build
// says what the Go tool knows.
var version string

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of cronce, Go and the time zone database",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return printJSON(a.out, map[string]string{
					"version": buildVersion(), "go": runtime.Version(), "zones": schedule.ZoneVersion(),
				})
			}
			_, err := fmt.Fprintf(a.out, "cronce %s, %s, time zones %s\n", buildVersion(), runtime.Version(), schedule.ZoneVersion())
			return err
		},
	}
}
