package target

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/targets"
	"github.com/cronce/cronce/targets/conform"
)

// conformFlags has the flags of conform.
type conformFlags struct {
	urls, only []string
	callers    int
	wait       time.Duration
}

func (a *app) conformCommand() *cobra.Command {
	var f conformFlags
	c := &cobra.Command{
		Use:   "conform --url URL [--url URL]... [-- COMMAND [ARG]...]",
		Short: "Run the conformance suite against a service in any language",
		Long: `conform tests over HTTP whether a service makes each call take effect once:
storms, lost answers, crashes, other payloads, late calls, expiry and more. The
service follows a small test protocol (docs/any-language.md).

Several URLs are instances of one service on one database, in whatever
languages; calls go to each of them in turn. A COMMAND is started before the
suite, started again whenever it ends, and stopped after the suite.

Exit 0: it conforms. Exit 1: it does not. Advisory cases and skipped cases do
not change the exit code.`,
		Example: `  cronce conform --url http://127.0.0.1:8080 -- ./my-service
  cronce conform --url http://127.0.0.1:8080 --only storm,crash`,
		RunE: func(c *cobra.Command, service []string) error {
			if len(service) > 0 && c.ArgsLenAtDash() != 0 {
				return command.Usage("unexpected argument %q; write -- before the command that starts the service", service[0])
			}
			return a.conform(c.Context(), f, service)
		},
	}
	c.Flags().StringArrayVar(&f.urls, "url", nil, "the base `URL` of an instance; repeat for more")
	c.Flags().StringSliceVar(&f.only, "only", nil, "the `cases` to run (default all)")
	c.Flags().IntVar(&f.callers, "callers", 20, "how many calls a storm has")
	c.Flags().DurationVar(&f.wait, "wait", 30*time.Second, "how long to wait for a service to come back, or a key to become free")
	return c
}

// conform checks the flags, starts the service if there is a command, runs the suite and prints the report.
func (a *app) conform(ctx context.Context, f conformFlags, service []string) error {
	if err := f.check(); err != nil {
		return err
	}
	proxy, err := targets.EnvironmentProxy(a.Lookup)
	if err != nil {
		return err
	}
	dial, proxy, err := targets.Egress(targets.SplitAllowed(a.AllowTarget), proxy)
	if err != nil {
		return command.Usage("--allow-target: %w", err)
	}
	if len(service) > 0 { // after the checks, so that a mistake starts nothing
		stop, err := a.supervise(ctx, service)
		if err != nil {
			return err
		}
		defer stop()
	}
	report, err := conform.Run(ctx, conform.Config{
		URLs: f.urls, Only: f.only, Callers: f.callers, MaxWait: f.wait, Dial: dial, Proxy: proxy,
	})
	if err != nil {
		return err
	}
	if err := a.showConform(report); err != nil {
		return err
	}
	if !report.Conforms {
		return command.ExitWith(command.ExitFailed)
	}
	return nil
}

// check refuses values that the suite cannot run with.
func (f conformFlags) check() error {
	switch {
	case len(f.urls) == 0:
		return command.Usage("conform needs --url, such as --url http://127.0.0.1:8080")
	case f.callers < 2 || f.callers > 1000:
		return command.Usage("invalid --callers %d; it must be from 2 to 1000", f.callers)
	case f.wait <= 0:
		return command.Usage("invalid --wait %s; it must be more than 0s, such as 30s", f.wait)
	}
	for _, u := range f.urls {
		if _, err := conform.ParseURL(u); err != nil {
			return command.Usage("--url: %w", err)
		}
	}
	for _, name := range f.only {
		if !slices.Contains(conform.Cases(), name) {
			return command.Usage("--only: unknown case %q; the cases are %s", name, strings.Join(conform.Cases(), ", "))
		}
	}
	return nil
}

func (a *app) showConform(r conform.Report) error {
	if a.Encoded() {
		return a.Encode(r)
	}
	t := a.Table("CASE", "RESULT", "RULE")
	for _, result := range r.Results {
		t.Row(result.Case, string(result.Outcome), result.Rule)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Count(conform.Passed) < len(r.Results) {
		if err := a.showFound(r); err != nil {
			return err
		}
	}
	word := "conforms"
	if !r.Conforms {
		word = "does not conform"
	}
	_, err := fmt.Fprintf(a.Out, "\n%s %s:\n%d passed, %d failed, %d advised, %d skipped\n", strings.Join(r.URLs, " "), word,
		r.Count(conform.Passed), r.Count(conform.Failed), r.Count(conform.Advised), r.Count(conform.Skipped))
	return err
}

// showFound prints what was found in each case that did not pass.
func (a *app) showFound(r conform.Report) error {
	fmt.Fprintln(a.Out)
	t := a.Table("CASE", "ABOUT", "TEXT")
	for _, result := range r.Results {
		if result.Outcome != conform.Passed {
			t.Row(result.Case, "found", result.Detail)
			t.Row(result.Case, "rule", result.Rule)
			t.Row(result.Case, "source", result.Source)
		}
	}
	return t.Flush()
}
