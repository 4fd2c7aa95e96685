package cli_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
)

// Every command that asks or acts does through a server what it does on the
// ledger itself, and prints the same.
func TestCommandsWorkThroughAServer(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		config := writeFile(t, strings.Replace(everySecond, `"* * * * * *"`, `"0 0 1 1 *"`, 1)+
			`  - { id: spread, schedule: "@hourly", spread: 1h, targetUrlEnv: SVC_URL, path: /spread }`+"\n")
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0")
		server := "http://" + p.address()
		env := map[string]string{"CRONCE_SERVER": server, "USER": "ann"}
		at := func(args ...string) (int, string) {
			code, out, errs := invoke(t, env, args...)
			return code, out + errs
		}
		direct := func(args ...string) (int, string) {
			code, out, errs := invoke(t, map[string]string{"USER": "ann"}, append(args, "--config", config, "--db", db)...)
			return code, out + errs
		}
		eventually(t, "a process that serves", func() bool { code, _ := at("status"); return code == 0 })
		code, out, errs := invoke(t, env, "trigger", "tick", "--why", "a test", "--json")
		var run operations.Run
		if err := json.Unmarshal([]byte(out), &run); err != nil || code != 0 || run.State != "succeeded" {
			t.Fatalf("trigger: exit %d, %s%s", code, out, errs)
		}
		for _, args := range [][]string{
			{"jobs", "pause", "tick", "--why", "a test"}, {"jobs", "list"}, {"jobs", "list", "--json"}, {"jobs", "show", "tick"}, {"jobs", "show", "tock"},
			{"runs", "list"}, {"runs", "list", "--job", "tick", "--state", "succeeded", "--json"}, {"runs", "list", "--unacknowledged", "--json"}, {"runs", "list", "--job", "nobody"}, {"runs", "show", run.RunID}, {"runs", "show", run.RunID, "--json"},
			{"runs", "show", "tick@2020-01-01T00:00:00Z"}, {"runs", "ack", run.RunID, "--why", "a test"}, {"runs", "redrive", "--job", "tick", "--dry-run"},
			{"why", "tick", run.ScheduledAt}, {"why", "tick", "2030-01-01T00:00:00Z", "--json"}, {"why", "nobody", "1h"}, {"next", "tick", "-n", "3"}, {"next", "tick", "-n", "3", "--json"}, {"next", "nobody"}, {"next", "spread", "-n", "3", "--from", "2026-11-22T00:00:00Z"}, {"next", "tick", "--tz", "UTC"},
			{"backfill", "tick", "--from", "2020-01-01T00:00:00Z", "--to", "2020-02-01T00:00:00Z", "--dry-run"}, {"backfill", "nobody", "--from", "1h", "--dry-run"},
			{"jobs", "resume", "tick", "--why", "a test"}, {"jobs", "pause", "nobody", "--why", "a test"},
		} {
			gotCode, got := at(args...)
			wantCode, want := direct(args...)
			if gotCode != wantCode || got != want {
				t.Errorf("%v:\nthrough the server, exit %d:\n%s\non the ledger, exit %d:\n%s", args, gotCode, got, wantCode, want)
			}
		}
		idle := map[string]string{"CRONCE_SERVER": server, "CRONCE_TOKEN": "proves-nothing"}
		if code, out, errs := invoke(t, idle, "jobs", "resume", "tick", "--why", "a test", "--by", "ann"); code != 0 {
			t.Errorf("a token that the server does not need, and a name: exit %d, %s%s", code, out, errs)
		}
		code, out, _ = invoke(t, env, "runs", "rerun", run.RunID, "--new-key", "--why", "a test")
		if code != 0 || !strings.Contains(out, "succeeded") {
			t.Errorf("rerun: exit %d, %s", code, out)
		}
		for _, args := range [][]string{{"diff", "--config", config}, {"purge", "--dry-run", "--config", config}, {"diff", "--config", config, "--db", db}} {
			if code, out := at(args...); code != exitUsage || !strings.Contains(out, "leave out --server and CRONCE_SERVER") {
				t.Errorf("%v: exit %d, %s", args, code, out)
			}
		}
		if code, out := at("__complete", "jobs", "show", "ti"); code != 0 || !strings.HasPrefix(out, "tick\n") {
			t.Errorf("completion: exit %d, %s", code, out)
		}
		for _, begun := range [][]string{{"jobs", "show", ""}, {"runs", "show", ""}, {"runs", "list", "--job", ""}, {"runs", "list", "--state", ""}, {"runs", "list", "--reason", ""}} {
			if code, out := at(append([]string{"__complete"}, begun...)...); code != 0 || strings.HasPrefix(out, ":") || strings.Contains(out, "is empty") {
				t.Errorf("completion of %q: exit %d, %s", begun, code, out)
			}
		}
		if code := p.Interrupt(); code != 0 {
			t.Errorf("serve: exit %d", code)
		}
		if code, out := direct("status"); code != exitFailed || !strings.Contains(out, "not serving") {
			t.Errorf("status without a process: exit %d, %s", code, out)
		}
	})
}

func TestWithoutAnAccessFileOnlyThisMachineIsServed(t *testing.T) {
	t.Parallel()
	config, db := writeFile(t, everySecond), "sqlite:"+filepath.Join(t.TempDir(), "ledger.db")
	svc := newService(t)
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", ":0")
	address := p.address()
	port := address[strings.LastIndex(address, ":"):]
	if !strings.Contains(p.Log.String(), "API not served") {
		t.Errorf("the log does not say it:\n%s", p.Log)
	}
	for path, want := range map[string]int{"/healthz": 200, "/v1/status": 403} {
		res, err := http.Get("http://127.0.0.1" + port + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

// SIGHUP reads the access file again; tokens let the command line in.
func TestAHangupReadsTheAccessFileAgain(t *testing.T) {
	t.Parallel()
	token, hash := access.NewToken()
	line := func(role string) string {
		return "version: 1\ntokens: [{ name: ci, role: " + role + ", hash: \"" + hash + "\" }]\n"
	}
	config, db, file := writeFile(t, everySecond), "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), filepath.Join(t.TempDir(), "access.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(line("viewer"))
	svc := newService(t)
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0", "--access", file)
	env := map[string]string{"CRONCE_SERVER": "http://" + p.address(), "CRONCE_TOKEN": token}
	pause := func() (int, string) {
		code, _, errs := invoke(t, env, "jobs", "pause", "tick", "--why", "a test")
		return code, errs
	}
	eventually(t, "an answer that a viewer gets", func() bool {
		code, errs := pause()
		return code == exitFailed && strings.Contains(errs, "needs the role operator")
	})
	write(line("operator"))
	p.signal(syscall.SIGHUP)
	eventually(t, "the new role", func() bool { code, _ := pause(); return code == 0 })
	_, out, _ := invoke(t, env, "jobs", "show", "tick")
	if !strings.Contains(out, "token:ci") {
		t.Errorf("the audit does not name who is proven:\n%s", out)
	}
	if code, out, errs := invoke(t, env, "jobs", "pause", "tick", "--why", "a test", "--by", "boss"); code != exitFailed || !strings.Contains(errs, "made by \"token:ci\"") {
		t.Errorf("in another's name: exit %d, %s%s", code, out, errs)
	}
	write("version: 1\ntokens: [")
	p.signal(syscall.SIGHUP)
	eventually(t, "the log to say why the file is not in force", func() bool {
		return strings.Contains(p.Log.String(), "registry not reloaded; the one in use stays") && strings.Contains(p.Log.String(), file)
	})
	if code, errs := pause(); code != 0 {
		t.Errorf("after a file with a mistake: exit %d, %s", code, errs)
	}
	_, another := access.NewToken()
	write(strings.Replace(line("operator"), hash, another, 1))
	p.signal(syscall.SIGHUP)
	eventually(t, "the token that was taken out to be refused", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.address()+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode == http.StatusUnauthorized
	})
	delete(env, "CRONCE_TOKEN")
	if code, errs := pause(); code == 0 {
		t.Errorf("without a token: exit %d, %s", code, errs)
	}
}
