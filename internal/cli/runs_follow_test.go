package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
)

// runs follow prints each change, through a server as on the ledger itself, until
// it is interrupted.
func TestRunsFollowPrintsChanges(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		config := writeFile(t, strings.Replace(everySecond, `"* * * * * *"`, `"0 0 1 1 *"`, 1))
		serve := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0")
		env := map[string]string{"CRONCE_SERVER": "http://" + serve.address(), "USER": "ann"}
		eventually(t, "a process that serves", func() bool { code, _, _ := invoke(t, env, "status"); return code == 0 })
		followers := []*process{
			spawn(t, []string{"CRONCE_SERVER=http://" + serve.address()}, "runs", "follow", "--job", "tick", "--json"),
			spawn(t, nil, "runs", "follow", "--config", config, "--db", db, "--json"),
			spawn(t, nil, "runs", "follow", "--config", config, "--db", db, "--state", "succeeded"),
		}
		var run operations.Run
		printed := func(n int, p *process) bool {
			if n == 2 {
				return strings.Contains(p.Log.String(), "  succeeded  ")
			}
			for line := range strings.Lines(p.Log.String()) {
				var got operations.Run
				if json.Unmarshal([]byte(line), &got) == nil && got.State == "succeeded" && got.RunID != "" {
					return true
				}
			}
			return false
		}
		eventually(t, "every follower prints a run", func() bool {
			// A follower prints what changes after its start, which may not be yet.
			_, out, _ := invoke(t, env, "trigger", "tick", "--why", "a test", "--json")
			if err := json.Unmarshal([]byte(out), &run); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return printed(0, followers[0]) && printed(1, followers[1]) && printed(2, followers[2])
		})
		for i, p := range followers {
			if code := p.Interrupt(); code != 0 {
				t.Errorf("follower %d: exit %d", i, code)
			}
		}
	})
}

func TestRunsFollowRefusesWhatItCannotFollow(t *testing.T) {
	t.Parallel()
	config, db := writeFile(t, everySecond), "sqlite:"+filepath.Join(t.TempDir(), "ledger.db")
	if code, _, errs := invoke(t, nil, "runs", "follow", "--state", "ded", "--config", config, "--db", db); code != exitUsage || !strings.Contains(errs, "dead") {
		t.Errorf("a misspelt state: exit %d, %s", code, errs)
	}
	_, _, _ = invoke(t, nil, "migrate", "up", "--db", db)
	if code, _, errs := invoke(t, nil, "runs", "follow", "--job", "tikc", "--config", config, "--db", db); code != exitUsage || !strings.Contains(errs, "tikc") {
		t.Errorf("an unknown job: exit %d, %s", code, errs)
	}
}
