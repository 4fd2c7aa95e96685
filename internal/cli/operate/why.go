package operate

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/terminal"
)

// whyCommand passes the time on as it was written. Package operations, here or on the server, reads it in the job's
// zone, which the command does not know.
func (a *app) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "why JOB TIME [MEMBER]",
		Short: "Explain why a job ran, or did not, at a time",
		Long: `why explains whether a job ran at a time. If the job has a run of that time, why
shows the run and the reason for its state. Otherwise it shows why no run
exists. TIME is in RFC 3339, a date, a time of day, or an age such as 24h.
Without an offset it is in the job's time zone. Of a triggered run it is what
follows the @ of its run ID. MEMBER is the key of a member of a run whose job
has each: why then explains what became of that member.`,
		Example: `  cronce why close-books 2026-11-21T00:00:00Z
  cronce why close-books 04:40
  cronce why bill-tenants 2026-12-01T03:00:00Z acme`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			return ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) (operations.Explanation, error) {
				return o.Why(ctx, args[0], args[1], strings.Join(args[2:], "")) // "" without a member
			}, a.printWhy, args[0])
		},
	}
}

// printWhy prints the verdict, the sentence, and the scheduled times around the time that was asked for.
func (a *app) printWhy(v operations.Explanation) error {
	local, member := "", ""
	if v.Member != "" {
		member = fmt.Sprintf(", member %q,", v.Member)
	}
	if v.Local != "" {
		local = " (" + v.Local + ")"
	}
	terminal.Fprintf(a.Out, "%s%s at %s%s: %s\n%s\n", v.JobID, member, v.At, local, string(v.Verdict), v.Text)
	if v.Run != nil {
		terminal.Fprintf(a.Out, "see \"cronce runs show %s\"\n", v.Run.RunID)
	}
	if v.Previous != "" || v.Next != "" {
		t := a.Details("SCHEDULED", "TIME")
		t.Row("previous", v.Previous)
		t.Row("next", v.Next)
		return t.Flush()
	}
	return nil
}
