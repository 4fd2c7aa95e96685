//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// SIGTERM stops serve gracefully: outcomes are recorded, and no lease is left.
func TestSIGTERMStopsGracefully(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		hang := make(chan struct{})
		svc.set(hang)
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, everySecond), "--db", db, "--listen", "")
		eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > 0 })
		p.signal(syscall.SIGTERM)
		eventually(t, "the stop to be logged", func() bool { return strings.Contains(p.Log.String(), "signal=terminated") })
		close(hang)
		if code := p.Wait(); code != exitDone || !strings.Contains(p.Log.String(), "msg=stopped") {
			t.Errorf("exit %d", code)
		}
		if run := one(t, db, svc.first()); run.State != "succeeded" {
			t.Errorf("the run in flight is %s", run.State)
		}
		if left := listRuns(t, db, "--state", "running"); len(left) > 0 {
			t.Errorf("%d runs are left leased", len(left))
		}
	})
}

// Under nohup, a hangup reloads too and ends nothing.
func TestHangupUnderNohup(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "l.db")
	code, _, errs := shell(t, []string{"SVC_URL=" + svc.URL, "CONFIG=" + writeFile(t, everySecond), "DB=" + db}, `
trap '' HUP
"$0" serve --config "$CONFIG" --db "$DB" --listen "" 2>log.$$ & serve=$!
trap 'cat log.$$ >&2; rm log.$$' EXIT
until grep -q serving log.$$; do sleep 0.1; done
kill -HUP $serve
until grep -q "registry reloaded" log.$$; do sleep 0.1; done
kill -TERM $serve
wait $serve`)
	if code != exitDone || !strings.Contains(errs, "signal=terminated") || !strings.Contains(errs, "msg=stopped") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// The second signal does not wait for the grace. It says what stays leased, and
// another process finishes that under the same run ID.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		hang := make(chan struct{})
		svc.set(hang)
		args := []string{"--config", writeFile(t, everySecond), "--db", db, "--listen", "", "--lease", "2s"}
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, append([]string{"serve", "--grace", "1h"}, args...)...)
		eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > 0 })
		p.signal(syscall.SIGINT)
		eventually(t, "the graceful stop to begin", func() bool { return strings.Contains(p.Log.String(), "signal=interrupt") })
		eventually(t, "a second signal, later than the first stop's, to be logged", func() bool {
			_ = p.Cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
			return strings.Contains(p.Log.String(), "stopped immediately")
		})
		code, run := p.Wait(), svc.first()
		if code != exitFailed || !strings.Contains(p.Log.String(), "stopped immediately") || !strings.Contains(p.Log.String(), run) {
			t.Errorf("exit %d, run %s", code, run)
		}
		close(hang)
		svc.set(nil)
		q := spawn(t, []string{"SVC_URL=" + svc.URL}, append([]string{"serve"}, args...)...)
		eventually(t, "the run to be finished", func() bool { return one(t, db, run).State == "succeeded" })
		q.Interrupt()
	})
}

// Signals that come together are one request to stop: timeout(1) signals the
// process and its group.
func TestSignalsThatComeTogetherStopGracefully(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	hang := make(chan struct{})
	svc.set(hang)
	db := "sqlite:" + filepath.Join(t.TempDir(), "l.db")
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, everySecond), "--db", db, "--listen", "")
	eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > 0 })
	p.signal(syscall.SIGSTOP) // so that it gets both at once
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGINT)
	p.signal(syscall.SIGCONT)
	eventually(t, "the stop to be logged", func() bool { return strings.Contains(p.Log.String(), "stopping gracefully") })
	close(hang)
	if code := p.Wait(); code != exitDone || !strings.Contains(p.Log.String(), "msg=stopped") {
		t.Errorf("exit %d", code)
	}
	if run := one(t, db, svc.first()); run.State != "succeeded" {
		t.Errorf("the run in flight is %s", run.State)
	}
}

// One serve at a time has an embedded ledger, whatever it is called by; other
// commands are not kept off, and neither is the successor of one that was killed.
func TestSecondServeOnOneFileIsRefused(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.db"), filepath.Join(dir, "link.db")
	if err := os.Symlink("real.db", link); err != nil { // to a file that is not there yet
		t.Fatal(err)
	}
	serve := func(path string) *process {
		return spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, everySecond), "--db", "sqlite:"+path, "--listen", "")
	}
	first := serve(link)
	eventually(t, "a first effect", func() bool { _, n := svc.count(); return n > 0 })
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(wd, real)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{real, link, relative, filepath.Join(dir, ".", "..", filepath.Base(dir), "link.db")} {
		second := serve(path)
		if code, text := second.Wait(), second.Log.String(); code != exitFailed || !strings.Contains(text, fmt.Sprintf("pid %d;", first.Cmd.Process.Pid)) {
			t.Errorf("%s: exit %d: %s", path, code, text)
		}
	}
	for _, args := range [][]string{{"runs", "list"}, {"jobs", "pause", "tick", "--why", "x", "--by", "x"}, {"migrate", "status"}} {
		if code, out, errs := invoke(t, nil, append(args, "--db", "sqlite:"+real)...); code != exitDone {
			t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
		}
	}
	first.Kill()
	successor := serve(real)
	eventually(t, "the successor to serve", func() bool { return strings.Contains(successor.Log.String(), "msg=serving") })
	if code := successor.Interrupt(); code != exitDone {
		t.Errorf("the successor: exit %d", code)
	}
}
