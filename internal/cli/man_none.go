//go:build !manpages

package cli

import "github.com/spf13/cobra"

// packaging adds nothing: the pages' generator would be 0.6 MB of the binary.
func (*app) packaging(*cobra.Command) {}
