package operate

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

func (a *app) runsMembersCommand() *cobra.Command {
	var q operations.MemberQuery
	var states []string
	var l listing
	format := ""
	c := &cobra.Command{
		Use:   "members RUN-ID",
		Short: "List or export the members of a run (jobs with each)",
		Long: `members lists what a run has fanned out to: one member for each item of its
list, those that failed first. not_started is a member that no run was made for
yet, and not_succeeded any state but succeeded. With --format, all that are
selected are exported as they are read.`,
		Example: `  cronce runs members bill-tenants@2026-12-01T03:00:00Z --state not_succeeded
  cronce runs members bill-tenants@2026-12-01T03:00:00Z --key 'acme*' -o json
  cronce runs members bill-tenants@2026-12-01T03:00:00Z --format csv > members.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			q.Parent = args[0]
			if q.States, err = command.AllOf("state", states, operations.MemberFilterStates); err != nil {
				return err
			}
			if err := l.check(c); err != nil {
				return err
			}
			if format != "" {
				e := operations.Export{What: "members", Members: q}
				if e.Format, err = command.OneOf("format", format, operations.Formats); err != nil {
					return err
				}
				return a.export(c, e)
			}
			defer l.tell(a)
			return ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) ([]operations.Member, error) {
				members, err := allMembers(ctx, o, q, l.rows())
				return cut(&l, members), err
			}, a.printMembers)
		},
	}
	c.Flags().StringSliceVar(&states, "state", nil, "only members in these `states`, e.g. dead,canceled")
	c.Flags().StringVar(&q.Key, "key", "", "only the member with this `key`, or those whose key begins with it: 'acme*'")
	c.Flags().StringVar(&format, "format", "", "export as csv or ndjson")
	l.flags(c, "members")
	return c
}

// allMembers returns up to n members.
func allMembers(ctx context.Context, o backend.Operator, q operations.MemberQuery, n int) ([]operations.Member, error) {
	all := []operations.Member{}
	for more := true; more && len(all) < n; more = q.After != "" {
		q.Limit = min(n-len(all), operations.MaxPage)
		page, err := o.Members(ctx, q)
		if err != nil {
			return nil, err
		}
		all, q.After = append(all, page.Members...), page.Next
	}
	return all, nil
}

func (a *app) printMembers(members []operations.Member) error {
	t := a.Table("KEY", "STATE", "REASON", "ATTEMPTS", "STATUS", "FINISHED", "ERROR").
		Optional("FINISHED", "ATTEMPTS", "REASON", "ERROR", "STATUS").Folding("ERROR")
	for _, m := range members {
		status := ""
		if m.Status > 0 {
			status = strconv.Itoa(m.Status)
		}
		t.Row(m.Key, a.State(string(m.State)), string(m.Reason), strconv.Itoa(m.Attempts), status, m.FinishedAt, m.Error)
	}
	return t.Flush()
}

// memberCounts returns the numbers of members by state in words; "" for a run without members.
func memberCounts(r operations.RunDetail) string {
	var parts []string
	for _, state := range operations.MemberStates {
		if n := r.Members[state]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+strings.ReplaceAll(string(state), "_", " "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strconv.Itoa(r.MemberCount) + ": " + strings.Join(parts, ", ")
}

// memberFlags select the members of a run.
type memberFlags struct {
	parent string
	keys   []string
}

func (f *memberFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.parent, "parent", "", "only the members of this `run-ID`, whose job has each")
	c.Flags().StringArrayVar(&f.keys, "member", nil, "of the run of --parent only the member with this `key`; may be repeated")
}

// add adds the members to a filter.
func (f *memberFlags) add(to *ledger.Filter) error {
	to.Parent = f.parent
	if len(f.keys) == 0 {
		return nil
	}
	if f.parent == "" {
		return command.Usage("--member needs --parent, the run whose member it is")
	}
	ids, err := operations.MemberRunIDs(f.parent, f.keys)
	if err != nil {
		return command.Usage("%v", err)
	}
	to.IDs, to.Parent = append(to.IDs, ids...), "" // run IDs name them; a parent selects all of its members
	return nil
}
