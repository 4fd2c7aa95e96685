//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// paths are those that were called, from the target's view.
func (s *service) paths() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, call := range s.calls {
		job, _, _ := strings.Cut(call, "@")
		n[job]++
	}
	return n
}

func rewrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

const secondJob = `  - { id: second, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /second, overlap: allow }
`

// A hangup switches to the registry as it is now: new jobs run, a call in flight
// ends and is recorded, and no scheduled time is left out or doubled.
func TestHangupReloadsTheRegistry(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		hang := make(chan struct{})
		svc.set(hang)
		config := writeFile(t, everySecond)
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0")
		address := p.address()
		eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > 0 })
		inFlight := svc.first()
		svc.set(nil)
		rewrite(t, config, everySecond+secondJob)
		p.signal(syscall.SIGHUP)
		eventually(t, "the reload", func() bool { return strings.Contains(p.Log.String(), `msg="registry reloaded`) })
		eventually(t, "calls of the new job", func() bool { return svc.paths()["second"] > 2 })
		before := svc.paths()["tick"]
		eventually(t, "calls of the job that stays", func() bool { return svc.paths()["tick"] > before+2 })
		close(hang)
		eventually(t, "the call in flight to be recorded", func() bool { return one(t, db, inFlight).State == "succeeded" })
		eventually(t, "the metrics to tell of it", func() bool {
			text := body(address, "/metrics")
			return strings.Contains(text, `cronce_registry_reloads_total{result="ok"} 1`) && strings.Contains(text, "cronce_registry_reload_ok 1") &&
				strings.Contains(text, "cronce_calls_in_flight 0")
		})
		if code := p.Interrupt(); code != exitDone {
			t.Errorf("exit %d", code)
		}
		runs := listRuns(t, db, "--job", "tick")
		first, last := parse(t, runs[len(runs)-1].ScheduledAt), parse(t, runs[0].ScheduledAt)
		if want := int(last.Sub(first).Seconds()) + 1; len(runs) != want {
			t.Errorf("%d runs of %d scheduled times", len(runs), want)
		}
		for _, r := range runs {
			if n := svc.of(r.RunID); n > 1 || r.State != "succeeded" && n > 0 {
				t.Errorf("%s: %d calls, %s (%s)", r.RunID, n, r.State, r.Reason)
			}
		}
	})
}

// What cannot be served replaces nothing, and the log and /readyz say why.
func TestHangupKeepsTheRegistryThatIsSound(t *testing.T) {
	t.Parallel()
	svc, config := newService(t), writeFile(t, everySecond)
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "127.0.0.1:0")
	address := p.address()
	eventually(t, "a first effect", func() bool { _, n := svc.count(); return n > 0 })
	for text, why := range map[string]string{
		everySecond + "  - { id: bad, schedule: nonsense, targetUrlEnv: SVC_URL, path: /x }\n":    "nonsense",
		everySecond + "  - { id: bad, schedule: '@daily', targetUrlEnv: ABSENT_URL, path: /x }\n": "ABSENT_URL",
		strings.Replace(everySecond, "name: test", "name: another", 1):                            "keep the name",
		"": "cronce.yaml",
	} {
		rewrite(t, config, text)
		p.signal(syscall.SIGHUP)
		eventually(t, "the refusal of "+why, func() bool {
			_, after, _ := strings.Cut(p.Log.String(), "registry not reloaded; the one in use stays")
			return strings.Contains(after, why)
		})
		eventually(t, "/readyz to say "+why, func() bool {
			return strings.Contains(body(address, "/readyz"), "warning: the registry was not reloaded") && strings.Contains(body(address, "/readyz"), why)
		})
	}
	_, before := svc.count()
	eventually(t, "more effects", func() bool { _, n := svc.count(); return n > before+1 })
	if text := body(address, "/metrics"); !strings.Contains(text, "cronce_registry_reload_ok 0") {
		t.Error("the metrics do not tell of the refusal")
	}
	rewrite(t, config, everySecond)
	p.signal(syscall.SIGHUP)
	eventually(t, "the warning to go", func() bool { return body(address, "/readyz") == "ready\n" })
	if code := p.Interrupt(); code != exitDone {
		t.Errorf("exit %d", code)
	}
}

// A former registry that comes back is served at once, although calls of the
// one in between are still in flight.
func TestReloadOfAFormerRegistry(t *testing.T) {
	t.Parallel()
	svc, config := newService(t), writeFile(t, everySecond)
	db := "sqlite:" + filepath.Join(t.TempDir(), "l.db")
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "", "--grace", "1h")
	eventually(t, "a first effect", func() bool { _, n := svc.count(); return n > 0 })
	changed := strings.Replace(everySecond, "overlap: allow", "overlap: allow, timeout: 10m", 1)
	rewrite(t, config, changed)
	p.signal(syscall.SIGHUP)
	eventually(t, "the reload", func() bool { return strings.Count(p.Log.String(), `msg="registry reloaded`) == 1 })
	hang := make(chan struct{})
	svc.set(hang)
	before, _ := svc.count()
	eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > before })
	rewrite(t, config, everySecond)
	p.signal(syscall.SIGHUP)
	eventually(t, "the reload", func() bool { return strings.Count(p.Log.String(), `msg="registry reloaded`) == 2 })
	svc.set(nil)
	before, _ = svc.count()
	eventually(t, "calls by the former registry", func() bool { n, _ := svc.count(); return n > before+2 })
	close(hang)
	if code := p.Interrupt(); code != exitDone {
		t.Errorf("exit %d", code)
	}
}

func TestWatchReloadsTheRegistry(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	dir := t.TempDir() // as the kubelet lays a ConfigMap out
	link := func(target, name string) {
		t.Helper()
		next := filepath.Join(dir, "..next")
		if err := os.Symlink(target, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	layer := func(name, text string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "cronce.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		link(name, "..data")
	}
	layer("..1", everySecond)
	link("..data/cronce.yaml", "cronce.yaml")
	p := spawn(t, []string{"SVC_URL=" + svc.URL, "CRONCE_WATCH=true"}, "serve", "--config", filepath.Join(dir, "cronce.yaml"),
		"--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "")
	eventually(t, "a first effect", func() bool { _, n := svc.count(); return n > 0 })
	layer("..2", everySecond+secondJob)
	eventually(t, "calls of the new job", func() bool { return svc.paths()["second"] > 1 })
	if code := p.Interrupt(); code != exitDone {
		t.Errorf("exit %d", code)
	}
}

// A hangup while serve starts, or with a reload under way, is not lost and ends
// nothing.
func TestHangupsAtTheWrongTime(t *testing.T) {
	t.Parallel()
	svc, config := newService(t), writeFile(t, everySecond)
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "")
	eventually(t, "the start", func() bool { return strings.Contains(p.Log.String(), "msg=serving") })
	for range 20 {
		p.signal(syscall.SIGHUP)
	}
	eventually(t, "a reload", func() bool { return strings.Contains(p.Log.String(), `msg="registry reloaded`) })
	eventually(t, "three effects", func() bool { _, n := svc.count(); return n >= 3 })
	p.signal(syscall.SIGHUP)
	if code := p.Interrupt(); code != exitDone || !strings.Contains(p.Log.String(), "msg=stopped") {
		t.Errorf("exit %d", code)
	}
}

// A registry whose jobs are gone may be a file that was cut off: their removal takes a
// restart. A reload of many jobs is told of in one line.
func TestAReloadDoesNotRemoveEveryJob(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	const many = 300
	var text strings.Builder
	text.WriteString(everySecond)
	for i := range many {
		fmt.Fprintf(&text, "  - { id: j%d, schedule: \"@yearly\", targetUrlEnv: SVC_URL, path: /j }\n", i)
	}
	config, db := writeFile(t, text.String()), "sqlite:"+filepath.Join(t.TempDir(), "l.db")
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0")
	address := p.address()
	eventually(t, "calls", func() bool { _, n := svc.count(); return n > 0 })
	rewrite(t, config, "version: 1\nname: test\njobs:\n")
	p.signal(syscall.SIGHUP)
	eventually(t, "the refusal", func() bool { return strings.Contains(body(address, "/readyz"), "the registry has no jobs") })
	_, before := svc.count()
	eventually(t, "calls of the job that stays", func() bool { _, n := svc.count(); return n > before+1 })
	rewrite(t, config, strings.ReplaceAll(text.String(), "@yearly", "@monthly"))
	p.signal(syscall.SIGHUP)
	eventually(t, "the switch of all jobs", func() bool { return strings.Contains(p.Log.String(), "count="+strconv.Itoa(many)) })
	if code := p.Interrupt(); code != exitDone {
		t.Errorf("exit %d", code)
	}
	if n := strings.Count(p.Log.String(), "jobs switched to their current definitions"); n < 1 || n > 3 {
		t.Errorf("%d lines of jobs that were switched", n)
	}
}
