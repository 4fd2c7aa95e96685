//go:build unix

package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

// shell runs a script in which "$0" is cronce.
func shell(t *testing.T, env []string, script string, args ...string) (code int, out, errs string) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", script, binary}, args...)...)
	c.Env = append(append(os.Environ(), "CRONCE_TEST_AS_BINARY=1"), env...)
	var o, e strings.Builder
	c.Stdout, c.Stderr = &o, &e
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if all := o.String() + e.String(); strings.Contains(all, "panic") || strings.Contains(all, "goroutine ") {
		t.Errorf("%s: a stack:\n%s", script, all)
	}
	return c.ProcessState.ExitCode(), o.String(), e.String()
}

// A reader that has seen enough ends the command, without a word.
func TestOutputThatNobodyReads(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"", " --json"} {
		_, out, errs := shell(t, nil, `"$0" next --expr "@every 1s" -n 100000`+form+` | head -n 1`)
		if strings.Count(out, "\n") != 1 || errs != "" {
			t.Errorf("next%s | head: %q, %q", form, out, errs)
		}
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	config := writeFile(t, operated)
	for _, command := range []string{"next slow", "next slow --json", "check", "check --json", "diff --against " + config, "version"} {
		code, _, errs := shell(t, []string{"CRONCE_CONFIG=" + config, "SVC_URL=https://svc.example"}, `"$0" `+command+` > /dev/full`)
		if code != exitFailed || !strings.Contains(errs, "no space left") {
			t.Errorf("%s > /dev/full: exit %d: %s", command, code, errs)
		}
	}
}

// A file that may not grow is a full disk: the command says so and makes no
// call whose outcome it could not keep.
func TestLedgerOnAFullDisk(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "l.db")
	code, out, errs := shell(t, []string{"SVC_URL=" + svc.URL}, `ulimit -f 100; exec "$0" "$@"`, "trigger", "slow", "--config", writeFile(t, operated), "--db", db)
	if calls, _ := svc.count(); code != exitFailed || calls != 0 || !strings.Contains(errs, "disk") {
		t.Errorf("exit %d, %d calls: %s%s", code, calls, out, errs)
	}
}

// What is not a ledger is said to be none, and is left as it is.
func TestLedgerThatIsNone(t *testing.T) {
	t.Parallel()
	config, dir := writeFile(t, operated), t.TempDir()
	path := filepath.Join(dir, "notes.txt")
	text := strings.Repeat("these are my notes\n", 100)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"runs list", "runs show x", "jobs list", "jobs pause tick --why x", "diff", "migrate up", "migrate status", "trigger slow", "serve", "backfill tick --from 1h --why x"} {
		code, out, errs := invoke(t, map[string]string{"SVC_URL": "https://svc.example", "USER": "ann"}, append(strings.Fields(command), "--config", config, "--db", "sqlite:"+path)...)
		want := exitFailed
		if command == "serve" { // which systemd is not to restart
			want = exitUsage
		}
		if code != want || !strings.Contains(errs, "not an SQLite database") && !strings.Contains(errs, "is "+path+" an SQLite database") {
			t.Errorf("%s: exit %d: %s%s", command, code, out, errs)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Fatalf("%s changed the file: %v", command, err)
		}
	}
}

// As somebody who may only read the file: not root, whom no mode keeps out.
func TestLedgerThatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	binary, err := os.Executable()
	d.must(err)
	program, err := os.ReadFile(binary)
	d.must(err)
	d.must(os.WriteFile(d.path("cronce"), program, 0o755))
	for path, mode := range map[string]os.FileMode{d.path("ledger.db"): 0o444, d.path("cronce.yaml"): 0o444, filepath.Dir(d.dir): 0o755} {
		d.must(os.Chmod(path, mode))
	}
	d.must(os.Chmod(d.dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(d.dir, 0o700) })
	for _, command := range []string{"runs list", "jobs pause close-books --why x --by x", "diff"} {
		c := exec.CommandContext(t.Context(), d.path("cronce"), append(strings.Fields(command), "--config", d.path("cronce.yaml"), "--db", "sqlite:"+d.path("ledger.db"))...)
		c.Env, c.Dir = append(os.Environ(), "CRONCE_TEST_AS_BINARY=1"), d.dir
		if os.Getuid() == 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := c.CombinedOutput()
		if c.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), "cannot be written") {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}
}

// Ctrl-C in the middle of a triggered call: the run stays, and the next
// scheduler asks again under its run ID.
func TestInterruptedTriggerGoesOn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		hang := make(chan struct{})
		svc.set(hang)
		config := writeFile(t, strings.Replace(operated, `"* * * * * *"`, `"@yearly"`, 2))
		args := []string{"--config", config, "--db", db}
		p := spawn(t, []string{"SVC_URL=" + svc.URL, "USER=ann"}, append([]string{"trigger", "slow"}, args...)...)
		eventually(t, "a call in flight", func() bool { n, _ := svc.count(); return n > 0 })
		if code := p.Interrupt(); code != exitFailed || !strings.Contains(p.Log.String(), "a running scheduler goes on with it") {
			t.Errorf("exit %d: %s", code, p.Log)
		}
		close(hang)
		svc.set(nil)
		serve := spawn(t, []string{"SVC_URL=" + svc.URL}, append([]string{"serve", "--listen", "", "--lease", "2s"}, args...)...)
		eventually(t, "the run to finish", func() bool {
			r := listRuns(t, db)
			return len(r) == 1 && r[0].State == "succeeded" && r[0].Replayed
		})
		serve.Interrupt()
		if _, effects := svc.count(); effects != 1 {
			t.Errorf("%d effects", effects)
		}
	})
}

// Ctrl-C in the middle of a backfill: what was planned is planned, the rest is
// as it was, and both are said.
func TestInterruptedBackfill(t *testing.T) {
	t.Parallel()
	var p *process
	var span []string
	for many, code := 60_000, 0; code == 0; many *= 2 { // it may be over before it is interrupted
		config, path := writeFile(t, operated), filepath.Join(t.TempDir(), "l.db")
		first := missedSeconds(t, config, path, many)
		span = []string{"backfill", "tick", "--config", config, "--db", "sqlite:" + path, "--from", operations.TimeText(first), "--to", operations.TimeText(first.Add(time.Duration(many-1) * time.Second))}
		p = spawn(t, []string{"USER=ann"}, append(span, "--why", "outage")...)
		eventually(t, "the first to be planned", func() bool { return len(listRuns(t, "sqlite:"+path, "--state", "planned", "--limit", "1")) > 0 })
		if code = p.Interrupt(); code > exitFailed || many > 500_000 {
			t.Fatalf("of %d scheduled times: exit %d: %s", many, code, p.Log)
		}
	}
	if !strings.Contains(p.Log.String(), "run it again for the rest") {
		t.Fatal(p.Log)
	}
	code, out, errs := invoke(t, nil, append(span[:len(span):len(span)], "--dry-run", "--json")...)
	if code != 0 || strings.Contains(out, `"planned": 0`) || strings.Contains(out, `"unchanged": 0`) || !strings.Contains(out, `"refused": 0`) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// missedSeconds makes a ledger in which a scheduler was away for n scheduled times of
// the job that ticks each second, and returns the first.
func missedSeconds(t *testing.T, config, path string, n int) time.Time {
	t.Helper()
	d := &desk{T: t}
	reg, err := jobs.Load(config)
	d.must(err)
	start := time.Now().UTC().Truncate(time.Second).Add(-time.Duration(n+60) * time.Second)
	clock := start
	l, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: func() time.Time { return clock }})
	d.must(err)
	defer l.Close()
	d.must(l.Declare(t.Context(), declaration(reg)))
	assignments, err := l.Assignments(t.Context(), reg.Version(), "")
	d.must(err)
	first, last := start.Add(time.Second), start.Add(time.Duration(n)*time.Second)
	clock = last
	for _, s := range assignments {
		if s.JobID != "tick" {
			continue
		}
		_, err := l.Admit(t.Context(), ledger.Admission{Process: "p1", Token: "t1", LeaseFor: time.Minute, Plans: []ledger.Plan{{
			JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: last, Runs: []ledger.RunSpec{{
				RunID: jobs.RangeID("tick", first, last), ScheduledAt: first, Until: last, Count: n,
				State: ledger.Missed, Reason: ledger.ReasonCatchUpWindow, Trigger: ledger.BySchedule,
			}},
		}}})
		d.must(err)
	}
	return first
}
