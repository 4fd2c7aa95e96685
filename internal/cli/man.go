//go:build manpages

package cli

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/cronce/cronce/internal/cli/command"
)

// packaging adds what only the makers of packages need.
func (a *app) packaging(root *cobra.Command) { root.AddCommand(a.manCommand(root)) }

func (a *app) manCommand(root *cobra.Command) *cobra.Command {
	var date string
	c := &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands into a directory",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			header := &doc.GenManHeader{Section: "1", Source: "cronce " + a.Version, Manual: "cronce"}
			if date != "" {
				day, err := time.Parse(time.DateOnly, date)
				if err != nil {
					return command.Usage("invalid --date %q; write it as 2026-11-22", date)
				}
				header.Date = &day
			}
			root.DisableAutoGenTag = true // the pages of one version are the same each time
			return doc.GenManTree(root, header, args[0])
		},
	}
	c.Flags().StringVar(&date, "date", "", "the `day` to write into the pages (default: today)")
	return c
}
