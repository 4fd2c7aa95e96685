package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli"
	"github.com/cronce/cronce/internal/cli/command"
)

// leaves are the commands that do something, by their path below cronce.
func leaves(c *cobra.Command, path string) map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	for _, sub := range c.Commands() {
		name := strings.TrimSpace(path + " " + sub.Name())
		if !sub.HasSubCommands() {
			found[name] = sub
		}
		for name, leaf := range leaves(sub, name) {
			found[name] = leaf
		}
	}
	return found
}

// With --server a command asks that server, or refuses; none works on another
// ledger than the one that is meant.
func TestEveryCommandAsksTheServerOrRefusesIt(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"status":403,"code":"forbidden","title":"Forbidden","detail":"not for you"}`))
	}))
	defer server.Close()
	lines := writeFile(t, `{"key":"k","schedule":"@daily"}`)
	t.Chdir(t.TempDir())
	why := []string{"--why", "x", "--by", "ann"}
	arguments := map[string][]string{
		"jobs show": {"j"}, "jobs diff": {"j"}, "jobs pause": append(why, "j"), "jobs resume": append(why, "j"), "why": {"j", "1h"}, "next": {"j"},
		"trigger": append(why, "j"), "backfill": append(why, "j", "--from", "1h"), "runs show": {"j@2026-11-21T00:00:00Z"}, "runs members": {"j@2026-11-21T00:00:00Z"},
		"runs cancel": append(why, "--job", "j"), "runs ack": append(why, "--job", "j"), "runs redrive": append(why, "--job", "j"),
		"runs rerun": append(why, "--new-key", "j@2026-11-21T00:00:00Z"), "incidents show": {"1"}, "incidents ack": append(why, "1"),
		"pauses add": append(why, "--until", "1h", "--all"), "pauses hold": append(why, "t", "--until", "1h"), "pauses change": append(why, "1", "--until", "1h"), "pauses end": append(why, "1"),
		"schedules get": {"t", "k"}, "schedules put": {"t", "k", "--in", "1h"}, "schedules delete": {"t", "k"}, "schedules history": {"t", "k"},
		"schedules pause": append(why, "t", "k"), "schedules resume": append(why, "t", "k"), "schedules import": {"t", lines},
		"access token": {"ann"}, "access check": {"f"}, "backup": {"f"}, "notify test": {"c"}, "man": {"d"},
	}
	for name, c := range leaves(cli.Root(&command.Env{In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr, Lookup: os.LookupEnv}), "") {
		if strings.HasPrefix(name, "completion") || name == "help" {
			continue
		}
		args := append(strings.Fields(name), arguments[name]...)
		if strings.HasPrefix(name, "import ") {
			args = append(args, "f")
		}
		asked.Store(0)
		code, out, errs := invoke(t, nil, append(args, "--server", server.URL)...)
		switch c.Annotations[command.Source] {
		case command.ServerOrLedger:
			if code != exitFailed || asked.Load() == 0 || !strings.Contains(errs, "not for you") {
				t.Errorf("%s: %d requests, exit %d: %s%s", name, asked.Load(), code, out, errs)
			}
		default:
			if code != exitUsage || asked.Load() != 0 || !strings.Contains(errs, "leave out --server") {
				t.Errorf("%s: %d requests, exit %d: %s%s", name, asked.Load(), code, out, errs)
			}
		}
		if c.Annotations[command.Source] == command.LedgerOnly {
			if code, _, errs := invoke(t, map[string]string{"CRONCE_SERVER": server.URL}, args...); code != exitUsage || !strings.Contains(errs, "CRONCE_SERVER") {
				t.Errorf("%s with the variable: exit %d: %s", name, code, errs)
			}
		}
	}
	for _, args := range [][]string{{"version"}, {"schema"}, {"migrate", "print"}, {"access", "token", "ann"}} {
		if code, _, errs := invoke(t, map[string]string{"CRONCE_SERVER": server.URL}, args...); code != exitDone {
			t.Errorf("%v with the variable: exit %d: %s", args, code, errs)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("the commands left %v, %v", left, err)
	}
}
