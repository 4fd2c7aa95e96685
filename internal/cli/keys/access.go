package keys

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/cli/command"
)

// accessToken is a new token, as JSON.
type accessToken struct {
	Name      string   `json:"name"`
	Role      string   `json:"role"`
	Templates []string `json:"templates,omitempty"`
	Token     string   `json:"token"`
	Hash      string   `json:"hash"`
}

// accessTokenCommand prints a token once. Only its hash is stored, so a reader of the access file cannot use the API.
func (a *app) accessTokenCommand() *cobra.Command {
	var role string
	var templates []string
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Print a new token, and an access file that has its hash",
		Long: `token prints a new random token to standard output, and an access file that has
it to standard error. The file has only the hash of the token, so store the
token now: it cannot be printed again. To add the token to an access file that
exists, put the last line below its "tokens:".

Programs send the token as "Authorization: Bearer". A browser asks for a user
and a password: the user may be any name, the password is the token.`,
		Example: `  cronce access token me --role admin 2>access.yaml
  cronce access token ci --role operator
  cronce access token shop --role scheduler --template customer-report`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := access.ParseRole(role); err != nil {
				return command.Usage("--role: %w", err)
			}
			if (role == access.Scheduler.String()) != (len(templates) > 0) {
				return command.Usage("--template belongs to --role scheduler, which needs at least one; give both or neither")
			}
			if !access.ValidName(args[0]) {
				return command.Usage("invalid name %+q; use 1 to 200 bytes of UTF-8 without control, invisible or bidirectional characters", args[0])
			}
			note, err := a.checkTemplates(templates)
			if err != nil {
				return err
			}
			token, hash := access.NewToken()
			if a.Encoded() {
				return a.Encode(accessToken{args[0], role, templates, token, hash})
			}
			bound := ""
			if len(templates) > 0 {
				bound = fmt.Sprintf("templates: [%s], ", strings.Join(templates, ", "))
			}
			fmt.Fprintf(a.Err, note+"# the access file; if you have one, put the last line below its \"tokens:\"\n"+
				"version: 1\ntokens:\n  - { name: %q, role: %s, %shash: %q }\n", args[0], role, bound, hash)
			_, err = fmt.Fprintln(a.Out, token)
			return err
		},
	}
	c.Flags().StringVar(&role, "role", "viewer", "scheduler, viewer, operator or admin")
	c.Flags().StringSliceVar(&templates, "template", nil,
		"ID of a job with keyed whose schedules the role scheduler may change; may be repeated")
	return c
}

// checkTemplates refuses a name that is no template of the registry. Without a valid registry it cannot tell, and
// returns a note that says so.
func (a *app) checkTemplates(names []string) (note string, err error) {
	reg, _ := a.CheckRegistry(nil)
	if reg == nil && len(names) > 0 {
		note = "# not checked whether the templates exist: there is no valid registry at --config\n"
	}
	for _, name := range names {
		if reg == nil {
			break
		}
		if _, is := reg.Template(name); !is {
			var ids []string
			for _, t := range reg.Templates() {
				ids = append(ids, t.ID)
			}
			return "", command.Usage("--template: unknown template %q; the registry's templates: %s", name, cmp.Or(strings.Join(ids, ", "), "none"))
		}
	}
	return note, nil
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
				return command.Usage("%w", err)
			}
			if text := f.Warning(); text != "" {
				fmt.Fprintln(a.Err, "warning:", text)
			}
			_, err = fmt.Fprintln(a.Out, "ok")
			return err
		},
	}
}
