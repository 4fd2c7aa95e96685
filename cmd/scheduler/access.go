package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/api/access"
)

func (a *app) accessCommand() *cobra.Command {
	c := &cobra.Command{Use: "access", Short: "Make tokens for the API, and check the access file", Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(a.accessTokenCommand(), a.accessCheckCommand())
	return c
}

func (a *app) accessTokenCommand() *cobra.Command {
	var role string
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Print a new token for the API, and its line for the access file",
		Long: `token prints a new random token to standard output, and its line for the access
file to standard error. The line has only the hash of the token, so store the
token now: it cannot be printed again.`,
		Example: `  cronce access token ci --role operator`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := access.ParseRole(role); err != nil {
				return usage("--role: %w", err)
			}
			if !access.ValidName(args[0]) {
				return usage("invalid name %+q; use 1 to 200 bytes of UTF-8 without control, invisible or bidirectional characters", args[0])
			}
			token, hash := access.NewToken()
			if a.encoded() {
				return a.encode(map[string]string{"name": args[0], "role": role, "token": token, "hash": hash})
			}
			fmt.Fprintf(a.err, "put this line below \"tokens:\" of the access file:\n  - { name: %q, role: %s, hash: %q }\n", args[0], role, hash)
			_, err := fmt.Fprintln(a.out, token)
			return err
		},
	}
	c.Flags().StringVar(&role, "role", "viewer", "viewer, operator or admin")
	return c
}

func (a *app) accessCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check an access file",
		Long: `check reports the mistakes of an access file, and warns of rules that are
weak although they are valid.

Exit 0: valid, with or without warnings. Exit 2: a mistake.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := access.Open(args[0])
			if err != nil {
				return &exit{exitUsage, err}
			}
			if text := f.Warning(); text != "" {
				fmt.Fprintln(a.err, "warning:", text)
			}
			_, err = fmt.Fprintln(a.out, "ok")
			return err
		},
	}
}
