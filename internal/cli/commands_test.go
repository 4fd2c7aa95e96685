package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli"
	"github.com/cronce/cronce/internal/cli/command"
)

const edited = `version: 1
name: acme-platform
targets:
  membership:
    urlEnv: MEMBERSHIP_URL
    auth: { type: bearer, token: { env: MEMBERSHIP_TOKEN } }
jobs:
  - { id: release-locks, schedule: "*/20 * * * *", target: membership, path: /v1/admin/locks/release, scopes: ["membership:admin"], body: { reason: "hold expired" }, retry: { backoff: [1s, 1m], jitter: 0 } }
  - { id: close-books, schedule: "0 0 * * *", timezone: Europe/London, target: membership, path: /v1/admin/books/close, overlap: queue, maxInFlight: 1 }
  - { id: asleep, schedule: "@daily", target: membership, path: /v1/admin/sleep }
`

// What every command prints, for people and as JSON, on one history.
func TestGolden(t *testing.T) {
	seven, eight := "release-locks@2026-11-21T07:00:00Z", "release-locks@2026-11-21T08:00:00Z"
	for name, commands := range map[string][][]string{
		"status": {{"status"}, {"status", "--json"}},
		"check":  {{"check"}, {"check", "--json"}},
		"next": {
			{"next", "close-books", "-n", "3"}, {"next", "close-books", "-n", "3", "--json"},
			{"next", "new-year"}, {"next", "new-year", "--json"},
			{"next", "--expr", "30 2 * * *", "--tz", "America/New_York", "--from", "2026-03-07T00:00:00Z", "-n", "3"},
		},
		"jobs-list":  {{"jobs", "list"}, {"jobs", "list", "--json"}},
		"jobs-show":  {{"jobs", "show", "release-locks"}, {"jobs", "show", "close-books"}, {"jobs", "show", "close-books", "--json"}},
		"jobs-pause": {{"jobs", "pause", "new-year", "--why", "because"}, {"jobs", "resume", "new-year", "--why", "done", "--json"}},
		"incidents": {
			{"incidents", "list"}, {"incidents", "list", "--json"}, {"incidents", "show", "2"}, {"incidents", "show", "1", "--json"}, {"incidents", "show", "99"},
			{"incidents", "show", "two"}, {"incidents", "ack", "2"}, {"incidents", "ack", "2", "--why", "known"}, {"incidents", "ack", "1", "--close", "--why", "done", "--json"},
			{"incidents", "list", "--closed"}, {"incidents", "list", "--limit", "0"},
		},
		"runs-list":   {{"runs", "list"}, {"runs", "list", "--state", "dead,missed", "--since", "24h", "--json"}, {"runs", "list", "--job", "close-books"}, {"runs", "list", "--job", "close-books", "--json"}},
		"runs-show":   {{"runs", "show", seven}, {"runs", "show", seven, "--json"}, {"runs", "show", "release-locks@2026-11-21T01:00:00Z/2026-11-21T03:00:00Z"}},
		"runs-cancel": {{"runs", "cancel", "release-locks@2026-11-21T09:00:00Z", seven, "nobody@x", "--why", "not today"}, {"runs", "cancel", "--job", "release-locks", "--why", "not today", "--json"}},
		"runs-ack":    {{"runs", "ack", "--reason", "permanent", "--since", "24h", "--why", "known"}, {"runs", "ack", eight, "--why", "known", "--json"}, {"runs", "list", "--state", "dead"}},
		"runs-redrive": {
			{"runs", "redrive", "--job", "release-locks", "--why", "fixed"}, {"runs", "redrive", seven, "--force", "--why", "fixed"},
			{"runs", "redrive", eight, "--force", "--why", "fixed", "--json"}, {"runs", "redrive", "nobody@x", "--why", "fixed", "--json"},
		},
		"runs-rerun": {
			{"runs", "rerun", "release-locks@2026-11-21T01:00:00Z/2026-11-21T03:00:00Z", "--new-key", "--why", "x"},
			{"runs", "rerun", "release-locks@2026-11-21T09:00:00Z", "--new-key", "--why", "x"},
			{"runs", "rerun", "release-locks@2026-11-21T04:00:00Z", "--new-key", "--why", "x"},
			{"runs", "rerun", eight, "--new-key", "--why", "x"}, {"runs", "rerun", eight, "--why", "x"},
		},
		"backfill": {
			{"backfill", "release-locks", "--from", "2026-11-20T22:00:00Z", "--to", "2026-11-21T12:00:00Z", "--dry-run"},
			{"backfill", "release-locks", "--from", "2026-11-21T02:00:00Z", "--to", "2026-11-21T11:00:00Z", "--why", "outage"},
			{"backfill", "release-locks", "--from", "12h", "--why", "outage", "--json"}, {"runs", "list", "--state", "planned"},
		},
		"diff": {{"diff"}, {"diff", "--json", "-n", "1"}, {"diff", "--config", "DIR/edited.yaml"}, {"diff", "--config", "DIR/edited.yaml", "--json", "-n", "2"},
			{"diff", "--against", "DIR/edited.yaml", "--from", "2027-01-01T00:00:00Z"}, {"diff", "--against", "DIR/renamed.yaml"}},
		"migrate": {{"migrate", "up"}, {"migrate", "up", "--json"}, {"migrate", "print", "--set", "keys", "--engine", "sqlite", "--table", "seen"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, membershipRegistry)
			d.history()
			d.ok("migrate", "up") // the time in its output differs each time
			d.write("edited.yaml", edited)
			d.write("renamed.yaml", strings.Replace(membershipRegistry, "acme-platform", "acme", 1))
			var text strings.Builder
			for _, args := range commands {
				for i := range args {
					args[i] = strings.Replace(args[i], "DIR", d.dir, 1)
				}
				text.WriteString(d.transcript(args...))
			}
			golden(t, name, text.String())
		})
	}
}

// A desk without a ledger, and with each kind of wrong usage: every error says
// what to do, and has its exit code.
func TestGoldenErrors(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	var text strings.Builder
	for _, args := range [][]string{
		{"nonsense"}, {"check", "--nonsense"}, {"runs", "nonsense"}, {"runs", "show"}, {"next", "-n", "many"}, {"next", "storm:acme"},
		{"next"}, {"next", "nobody"}, {"next", "close-books", "--expr", "@daily"}, {"next", "close-books", "--tz", "UTC"}, {"next", "--expr", "61 * * * *"},
		{"next", "close-books", "-n", "0"}, {"next", "close-books", "--from", "tomorrow"},
		{"jobs", "show", "nobody"}, {"jobs", "pause", "close-books"}, {"jobs", "pause", "close-books", "--why", "x"},
		{"jobs", "pause", "close-books", "--why", " ", "--by", "x"}, {"jobs", "pause", "close-books", "--why", "x", "--by", ""},
		{"runs", "list"}, {"runs", "list", "--state", "ded"}, {"runs", "list", "--since", "yesterday"}, {"runs", "list", "--since", "-1h"},
		{"runs", "list", "--limit", "0"}, {"runs", "list", "--since", "1h", "--until", "2h"},
		{"runs", "cancel", "--why", "x"}, {"runs", "cancel", "--state", "succeeded", "--why", "x"}, {"runs", "redrive", "--why", "x"}, {"runs", "ack", "a@b"},
		{"serve", "--public-url", "nonsense"}, {"serve", "--public-url", "nonsense", "--max-in-flight", "0"},
		{"backfill", "release-locks", "--why", "x"}, {"backfill", "release-locks", "--from", "1h"}, {"backfill", "release-locks", "--from", "1h", "--to", "2h", "--why", "x"},
		{"backfill", "nobody", "--from", "1h", "--why", "x"}, {"backfill", "release-locks", "--from", "1000-01-01T00:00:00Z", "--why", "x"}, {"backfill", "release-locks", "--from", "1h", "--why", "x"},
		{"trigger", "nobody"}, {"diff"}, {"diff", "--against", "nowhere.yaml"}, {"diff", "-n", "0", "--against", "nowhere.yaml"},
		{"try", "nobody"}, {"try", "purge-expired-keys"}, {"try", "close-books", "--method", "PUT"}, {"try", "close-books", "--url", "http://127.0.0.1"},
		{"conform"}, {"conform", "--url", "nonsense"}, {"conform", "--url", "http://127.0.0.1:1", "--only", "strom"}, {"conform", "--url", "http://127.0.0.1:1", "--callers", "1"},
		{"conform", "--url", "http://127.0.0.1:1", "node"}, {"conform", "--url", "http://127.0.0.1:1", "--", "no-such-command"}, {"conform", "--url", "http://127.0.0.1:1", "--wait", "0s"},
		{"try", "--url", "nonsense"}, {"try", "--url", "http://example.com/x"}, {"try", "--url", "https://a:b@example.com/x"}, {"try", "--url", "http://127.0.0.1/x", "--method", "GET"},
		{"try", "--url", "http://127.0.0.1/x", "--body", "{"}, {"try", "--url", "http://127.0.0.1/x", "--changed-body", "{"}, {"try", "--url", "http://127.0.0.1/x", "--token-env", "UNSET"},
		{"check", "--config", "nowhere.yaml"}, {"check", "--config", "nowhere.yaml", "--json"}, {"check", "--config", ""}, {"runs", "list", "--db", ""},
		{"runs", "list", "--db", "sqlite:"}, {"runs", "list", "--db", "mysql://x"}, {"runs", "list", "--db", "postgres://u:hunter2@[x"},
		{"migrate", "print", "--set", "nonsense"}, {"migrate", "status"},
	} {
		if code, _, errs := d.run(args...); code == 0 || strings.Contains(errs, "hunter2") {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
		text.WriteString(d.transcript(args...))
	}
	golden(t, "errors", text.String())
}

func TestGoldenHelp(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	var text strings.Builder
	for _, command := range []string{
		"check", "next", "diff", "jobs", "jobs list", "jobs show", "jobs pause", "jobs resume", "trigger", "backfill",
		"runs", "runs list", "runs show", "runs cancel", "runs ack", "runs redrive", "runs rerun", "try", "conform", "migrate", "migrate up", "migrate status", "migrate print",
	} {
		help, _, _ := strings.Cut(d.transcript(append(strings.Fields(command), "--help")...), "Global Flags:")
		text.WriteString(help + "\n")
	}
	golden(t, "help", text.String())
}

// Every command says what it does, in lines of at most 80 characters. Only an example
// and a command's usage may be longer.
func TestEveryCommandHasHelp(t *testing.T) {
	a := &command.Env{Lookup: func(string) (string, bool) { return "", false }}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no line of help", c.CommandPath())
		}
		for _, line := range strings.Split(c.Long+"\n"+strings.Replace(c.UsageString(), c.Example, "", 1), "\n") {
			if len(line) > 80 && !strings.HasPrefix(line, "  {") && !strings.HasPrefix(line, "  "+c.CommandPath()) {
				t.Errorf("%s: a line of %d characters: %s", c.CommandPath(), len(line), line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(cli.Root(a))
}
