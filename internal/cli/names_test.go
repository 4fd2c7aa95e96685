package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronce/cronce/internal/cli"
	"github.com/cronce/cronce/internal/cli/command"
)

// A variable that is not set leaves an empty value. No command takes it for
// "all", and none opens anything before it says so.
func TestEmptyValuesAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	a := &command.Env{Lookup: func(string) (string, bool) { return "", false }}
	root := cli.Root(a)
	var allowed []string
	visit(root, func(c *cobra.Command) {
		if c.HasSubCommands() {
			return
		}
		words := strings.Fields(c.CommandPath())[1:]
		_ = c.InheritedFlags() // merges the global flags into those of the command
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, ok := f.Annotations[command.MayBeEmpty]; ok {
				allowed = append(allowed, f.Name)
				return
			}
			for _, value := range []string{"", " "} {
				refuses(t, append(words, positional(c)...), "--"+f.Name+"="+value)
			}
		})
		if strings.ContainsAny(c.Use, "[A-Z") && len(positional(c)) > 0 {
			refuses(t, append(words, positional(c)[1:]...), "")
		}
	})
	if strings.Join(allowed, " ") != "listen" {
		t.Errorf("flags that may be empty: %s; each is a decision", allowed)
	}
}

// positional returns an argument for a command that takes one.
func positional(c *cobra.Command) []string {
	for _, args := range [][]string{{"x"}, {"x", "1h"}} {
		if c.ValidateArgs(args) == nil {
			return args
		}
	}
	return nil
}

func refuses(t *testing.T, command []string, argument string) {
	t.Helper()
	d := newDesk(t, membershipRegistry)
	args := append(append([]string{}, command...), argument)
	if code, out, errs := d.run(args...); code != exitUsage || out != "" || !strings.Contains(errs, "empty") && !strings.Contains(errs, "invalid ") || d.exists("ledger.db") {
		t.Errorf("%q: exit %d, a ledger: %v: %s%s", args, code, d.exists("ledger.db"), out, errs)
	}
}

func visit(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		visit(sub, do)
	}
}

// A ledger's variable that is empty does not stand for the default, which would
// be another ledger than the one that was meant.
func TestEmptyLedgerVariableIsRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", " "} {
		d := newDesk(t, membershipRegistry)
		d.env["CRONCE_DATABASE_URL"] = value
		for _, args := range [][]string{{"runs", "list"}, {"jobs", "list"}, {"migrate", "status"}, {"purge", "--dry-run"}} {
			if code, out, errs := d.run(args...); code != exitUsage || out != "" || !strings.Contains(errs, "CRONCE_DATABASE_URL is empty") {
				t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
			}
		}
		if code, out, errs := d.run("migrate", "up", "--db", "sqlite:"+d.path("named.db")); code != exitDone {
			t.Errorf("with --db: exit %d: %s%s", code, out, errs)
		}
	}
}

// An action with an empty selector changes nothing.
func TestEmptySelectorChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	_, before, _ := d.run("runs", "list")
	for _, act := range []string{"cancel", "ack", "redrive"} {
		for _, args := range [][]string{{"--job", "", "--since", "24h"}, {"--job=", "--since", "24h"}, {"--since", ""}, {"--until", ""}, {"--reason", "", "--since", "24h"}, {"", "--since", "24h"}} {
			if code, out, errs := d.run(append([]string{"runs", act, "--why", "x"}, args...)...); code != exitUsage || !strings.Contains(errs, "empty") {
				t.Errorf("%s %q: exit %d: %s%s", act, args, code, out, errs)
			}
		}
	}
	if _, after, _ := d.run("runs", "list"); after != before {
		t.Errorf("runs were changed:\n%s", after)
	}
}

// A name that nothing has is an error with the nearest one that there is, never
// an empty list or "0 done".
func TestGoldenUnknownNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	var text strings.Builder
	for _, args := range [][]string{
		{"runs", "list", "--job", "relase-locks"}, {"runs", "list", "--job", "zzzzzzzz", "--json"},
		{"runs", "list", "--state", "ded"}, {"runs", "list", "--state", "dead,"}, {"runs", "list", "--reason", "exausted"}, {"runs", "list", "--reason", "zzzzzzzzzzzzz"},
		{"runs", "cancel", "--job", "close-book", "--why", "x"}, {"runs", "ack", "--reason", "overlp", "--why", "x"}, {"runs", "redrive", "--job", "release_locks", "--since", "1d", "--why", "x"},
		{"jobs", "show", "close-boks"}, {"jobs", "pause", "close-boks", "--why", "x"}, {"jobs", "resume", "close-boks", "--why", "x", "--json"},
		{"next", "close-boks"}, {"trigger", "close-boks"}, {"try", "close-boks"}, {"backfill", "close-boks", "--from", "1d", "--why", "x"},
		{"next", "--expr", "@daily", "--tz", "Europe/Londn"}, {"next", "--expr", "@daily", "--dst", "onc"},
		{"migrate", "print", "--set", "key"}, {"migrate", "print", "--engine", "postgre"}, {"export", "cloudformation", "--architecture", "arm"}, {"export", "terafrm"}, {"export", "terraform", "--secrets", "vault"},
		{"purge", "--store", "accountin"}, {"try", "--url", "http://127.0.0.1/x", "--method", "PST"},
		{"serve", "--log-level", "inf"}, {"serve", "--log-format", "jsn"}, {"chek"}, {"runs", "lst"},
	} {
		if code, out, _ := d.run(args...); code != exitUsage || out != "" {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
		text.WriteString(d.transcript(args...))
	}
	// What the registry has is known before it has runs, and what the ledger has
	// runs of after it left the registry.
	for _, args := range [][]string{{"runs", "list", "--job", "new-year"}, {"runs", "cancel", "--job", "asleep", "--why", "x"}} {
		if code, out, errs := d.run(args...); code != exitDone {
			t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
		}
	}
	d.write("cronce.yaml", strings.Replace(membershipRegistry, "id: release-locks", "id: other", 1))
	if code, _, errs := d.run("runs", "list", "--job", "release-locks"); code != exitDone {
		t.Errorf("a job that left the registry: exit %d: %s", code, errs)
	}
	golden(t, "unknown-names", text.String())
}

// The run ID may be written with another offset than UTC's wherever one is
// taken.
func TestRunIDWithOffset(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	for id, want := range map[string]string{
		"release-locks@2026-11-21T08:00:00+01:00":                           "release-locks@2026-11-21T07:00:00Z",
		"release-locks@2026-11-20T21:00:00-10:00":                           "release-locks@2026-11-21T07:00:00Z",
		"release-locks@2026-11-21T02:00:00+01:00/2026-11-21T00:00:00-03:00": "release-locks@2026-11-21T01:00:00Z/2026-11-21T03:00:00Z",
	} {
		if code, out, errs := d.run("runs", "show", id); code != exitDone || !strings.Contains(out, want+"\n") {
			t.Errorf("show %s: exit %d: %s%s", id, code, out, errs)
		}
	}
	if code, out, errs := d.run("runs", "ack", "release-locks@2026-11-21T08:00:00+01:00", "--why", "x"); code != exitDone {
		t.Errorf("ack: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := d.run("runs", "rerun", "release-locks@2026-11-21T10:00:00+01:00", "--new-key", "--why", "x"); code != exitFailed || !strings.Contains(errs, "release-locks@2026-11-21T09:00:00Z is planned") {
		t.Errorf("rerun: exit %d: %s%s", code, out, errs)
	}
}

// Every flag that takes a time takes it in every form.
func TestTimesAreTakenEverywhere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	for _, value := range []string{"7d", "2w", "2026-11-20", "2026-11-20T03:00", "2026-11-20 03:00", "04:40", "2026-11-20T03:00:00Z"} {
		for _, args := range [][]string{
			{"runs", "list", "--since", value}, {"runs", "list", "--until", value}, {"runs", "cancel", "--why", "x", "--until", value},
			{"runs", "ack", "--why", "x", "--job", "close-books", "--since", value}, {"runs", "redrive", "--why", "x", "--job", "close-books", "--since", value},
			{"backfill", "release-locks", "--dry-run", "--from", value}, {"backfill", "release-locks", "--dry-run", "--from", "3w", "--to", value},
			{"next", "close-books", "--from", value}, {"diff", "--from", value},
		} {
			// A backfill of times before the job fails, but not for the form of a time.
			if code, out, errs := d.run(args...); code != exitDone && (args[0] != "backfill" || code != exitFailed) {
				t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
			}
		}
	}
}

// A mistyped flag gets the nearest of the command's own and of the global ones.
func TestMistypedFlagsGetASuggestion(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	for args, want := range map[string]string{
		"runs list --sinc 7d":  `unknown flag: --sinc; did you mean "--since"? run "cronce runs list --help" for its flags`,
		"runs list --sinc=7d":  `did you mean "--since"?`,
		"runs list -limit 3":   `did you mean "--limit"?`,
		"jobs list --jsn":      `did you mean "--json"?`,
		"--confg x check":      `did you mean "--config"?`,
		"check --zzzzzzzzz":    `unknown flag: --zzzzzzzzz; run "cronce check --help"`,
		"runs list --zz":       `unknown flag: --zz; run`,
		"runs list --limit":    `flag needs an argument: --limit; run`,
		"runs list --limit=xy": `invalid --limit "xy"; use a whole number`,
	} {
		if code, out, errs := d.run(strings.Fields(args)...); code != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s%s", args, code, out, errs)
		}
	}
}

// A run ID with a mistyped job gets the nearest job, as the job by itself does.
func TestRunsOfMistypedJobsGetASuggestion(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.ok("migrate", "up")
	for _, command := range []string{"runs show", "runs rerun --new-key --why x", "runs cancel --why x", "runs redrive --why x", "runs ack --why x"} {
		for job, says := range map[string]string{
			"close-boks":  `unknown job "close-boks"; did you mean "close-books"? "cronce jobs list" lists the jobs`,
			"close-books": `the ledger has no`,
		} {
			args := append(strings.Fields(command), job+"@2026-11-20T00:00:00Z")
			code, _, errs := d.run(args...)
			if code == exitDone || !strings.Contains(errs, says) || job == "close-books" && strings.Contains(errs, "unknown job") {
				t.Errorf("%q: exit %d: %s", args, code, errs)
			}
		}
	}
}

// Where there is no ledger yet, a mistyped job is told before the ledger's absence.
func TestUnknownJobsAreToldWithoutALedger(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	for _, command := range []string{
		"runs list --job JOB", "runs follow --job JOB", "runs redrive --job JOB --why x", "incidents list --job JOB", "why JOB 1h",
		"jobs pause JOB --why x", "backfill JOB --from 2026-11-20 --to 2026-11-21 --why x",
	} {
		for job, want := range map[string]struct {
			code int
			says string
		}{
			"close-boks":  {exitUsage, `unknown job "close-boks"; did you mean "close-books"?`},
			"close-books": {exitFailed, "does not exist yet"},
		} {
			args := strings.Fields(strings.ReplaceAll(command, "JOB", job))
			if code, out, errs := d.run(args...); code != want.code || out != "" || !strings.Contains(errs, want.says) || d.exists("ledger.db") {
				t.Errorf("%s: exit %d: %s%s", args, code, out, errs)
			}
		}
	}
}
