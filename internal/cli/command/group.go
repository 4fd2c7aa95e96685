package command

import "github.com/spf13/cobra"

// Group returns a command that only has commands below it. Without one of them it prints its help.
func Group(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: KnownCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(below...)
	return c
}
