package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// site is a registry that a scheduler serves, in a process of its own, and that
// an operator works on from the command line.
type site struct {
	*testing.T
	db, config, url string
	serve           *process
}

const operated = `version: 1
name: test
jobs:
  - { id: tick, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /tick, overlap: allow, catchUp: all }
  - { id: bad, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /missing, overlap: allow }
  - { id: slow, schedule: "@yearly", targetUrlEnv: SVC_URL, path: /slow }
`

func newSite(t *testing.T, db, url string) *site {
	t.Helper()
	s := &site{T: t, db: db, config: writeFile(t, operated), url: url}
	s.start()
	return s
}

func (s *site) start() {
	s.Helper()
	s.serve = spawn(s.T, []string{"SVC_URL=" + s.url}, "serve", "--config", s.config, "--db", s.db, "--listen", "")
}

// do runs a command in this process and returns what it printed.
func (s *site) do(code int, args ...string) string {
	s.Helper()
	got, out, errs := invoke(s.T, map[string]string{"SVC_URL": s.url, "USER": "ann"}, append(args, "--config", s.config, "--db", s.db)...)
	if got != code {
		s.Fatalf("cronce %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	}
	return out
}

func (s *site) runs(args ...string) []operations.Run {
	s.Helper()
	return listRuns(s.T, s.db, args...)
}

func (s *site) acted(code int, args ...string) operations.RunActionResult {
	s.Helper()
	var got operations.RunActionResult
	if err := json.Unmarshal([]byte(s.do(code, append(args, "--json", "--why", "test")...)), &got); err != nil {
		s.Fatal(err)
	}
	return got
}

func (s *site) show(id string) operations.RunDetail {
	s.Helper()
	var got operations.RunDetail
	if err := json.Unmarshal([]byte(s.do(0, "runs", "show", id, "--json")), &got); err != nil {
		s.Fatal(err)
	}
	return got
}

// partly is a service whose /missing is not there until it is mended, and whose
// other paths apply each key once.
type partly struct{ *service }

func newPartly(t *testing.T) (*partly, string) {
	t.Helper()
	p := &partly{newService(t)}
	front := http.NewServeMux()
	front.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	front.Handle("/", p.service)
	p.Config.Handler = front
	return p, p.URL
}

// Paused scheduled times are skipped one by one, resumed ones run, and a backfill runs
// what was skipped, under the scheduled times' own run IDs and once each.
func TestPauseResumeAndBackfill(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc, url := newPartly(t)
		s := newSite(t, db, url)
		eventually(t, "a first effect", func() bool { _, n := svc.count(); return n >= 1 })
		s.do(0, "jobs", "pause", "tick", "--why", "audit")
		eventually(t, "two paused scheduled times", func() bool { return len(s.runs("--job", "tick", "--state", "skipped", "--reason", "paused")) >= 2 })
		s.do(0, "jobs", "resume", "tick", "--why", "done")
		skipped := s.runs("--job", "tick", "--state", "skipped")
		first, last := skipped[len(skipped)-1], skipped[0]
		var counted operations.Backfilled
		span := []string{"backfill", "tick", "--from", first.ScheduledAt, "--to", last.ScheduledAt, "--json"}
		if err := json.Unmarshal([]byte(s.do(0, append(span, "--dry-run")...)), &counted); err != nil || counted.Planned != len(skipped) {
			t.Fatalf("dry run %+v, %v: want %d", counted, err, len(skipped))
		}
		if t50 := counted.Takes; t50 == nil || t50.P50 == "" || t50.P95 == "" {
			t.Errorf("a dry run says that they take %+v, and runs of the job have succeeded", t50)
		}
		if text := s.do(0, append(span[:len(span)-1:len(span)-1], "--dry-run")...); !strings.Contains(text, "One after the other they take ") {
			t.Errorf("a dry run says %q", text)
		}
		if again := s.runs("--job", "tick", "--state", "skipped", "--until", last.ScheduledAt); len(again) != len(skipped)-1 {
			t.Fatalf("a dry run moved something: %d left of %d", len(again), len(skipped)-1)
		}
		s.do(exitFailed, "backfill", "tick", "--from", "2020-01-01T00:00:00Z", "--to", "2020-01-01T00:00:01Z", "--dry-run") // before the job: refused
		s.do(0, append(span, "--why", "the audit is over")...)
		eventually(t, "the skipped scheduled times to have run", func() bool {
			for _, r := range skipped {
				if s.show(r.RunID).State != "succeeded" {
					return false
				}
			}
			return true
		})
		if r := s.show(first.RunID); r.Trigger != "backfill" || r.By != "ann" || r.Why != "the audit is over" {
			t.Errorf("run %+v", r)
		}
		if err := json.Unmarshal([]byte(s.do(0, append(span, "--why", "again")...)), &counted); err != nil || counted.Planned != 0 || counted.Unchanged != len(skipped) {
			t.Errorf("a second backfill %+v, %v: want nothing to do", counted, err)
		}
		s.serve.Interrupt()
		calls, effects := svc.count()
		if succeeded := s.runs("--job", "tick", "--state", "succeeded"); len(succeeded) != effects || calls != effects {
			t.Errorf("%d succeeded, %d calls, %d effects", len(succeeded), calls, effects)
		}
		edited := writeFile(t, strings.Replace(everySecond, "* * * * * *", "*/7 * * * * *", 1))
		code, _, errs := invoke(t, nil, "backfill", "tick", "--from", first.ScheduledAt, "--dry-run", "--config", edited, "--db", db)
		if code != exitUsage || !strings.Contains(errs, "the ledger plans tick by") {
			t.Errorf("by another schedule: exit %d: %s", code, errs)
		}
	})
}

// Dead runs are found, asked again, made anew, and acknowledged, each with who
// and why.
func TestRedriveRerunAndAck(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc, url := newPartly(t)
		s := newSite(t, db, url)
		eventually(t, "the scheduler", func() bool { _, n := svc.count(); return n >= 1 })
		eventually(t, "a dead run", func() bool { return len(s.runs("--job", "bad", "--state", "dead")) >= 2 })
		s.do(0, "jobs", "pause", "bad", "--why", "it is broken")
		eventually(t, "nothing unfinished", func() bool { return len(s.runs("--job", "bad", "--state", "planned,running,retrying")) == 0 })
		dead := s.runs("--job", "bad", "--state", "dead")
		id := dead[0].RunID

		if got := s.acted(0, "runs", "redrive", id); len(got.Changed) != 1 || got.Changed[0].State != "retrying" {
			t.Errorf("redriven %+v", got)
		}
		eventually(t, "the redriven run to die again", func() bool { r := s.show(id); return r.State == "dead" && len(r.History) == 2 })
		if r := s.show(id); r.By != "ann" || r.Why != "test" || r.Reason != "permanent" {
			t.Errorf("run %+v", r)
		}

		out := s.do(1, "runs", "rerun", id, "--new-key", "--why", "as new work", "--json")
		var rerun operations.Run
		if err := json.Unmarshal([]byte(out), &rerun); err != nil || !strings.HasPrefix(rerun.RunID, id+"~") || rerun.State != "dead" || rerun.Trigger != "rerun" {
			t.Errorf("rerun %+v, %v", rerun, err)
		}
		for _, either := range []string{id, rerun.RunID} {
			acts := s.show(either).Audit
			if last := acts[len(acts)-1]; last.Action != ledger.ActionRerun || last.RunID != id || last.RerunID != rerun.RunID ||
				last.By != "ann" || last.Why != "as new work" || last.Via != ledger.ViaCLI {
				t.Errorf("the acts on %s: %+v", either, acts)
			}
		}
		if acts := s.show(id).Audit; len(acts) != 2 || acts[0].Action != ledger.ActionRedrive || acts[0].Why != "test" {
			t.Errorf("the acts on %s: %+v, want the redrive kept before the rerun", id, acts)
		}
		s.do(1, "runs", "rerun", id, "--new-key", "--why", "by mistake")
		s.do(1, "runs", "redrive", id, "--why", "by mistake")

		if got := s.acted(0, "runs", "ack", "--job", "bad", "--reason", "permanent"); len(got.Changed) != len(dead)+1 {
			t.Errorf("acknowledged %d of %d", len(got.Changed), len(dead)+1)
		}
		if got := s.acted(0, "runs", "ack", "--job", "bad"); len(got.Changed) != 0 {
			t.Errorf("acknowledged twice: %+v", got)
		}
		if r := s.show(id); r.AckedAt == "" {
			t.Errorf("run %+v: want it acknowledged", r)
		}

		settled := len(dead) + 1
		for _, dry := range []bool{true, false} {
			args := []string{"runs", "redrive", "--job", "bad", "--since", "1h"}
			if dry {
				args = append(args, "--dry-run")
			}
			if got := s.acted(0, args...); len(got.Changed) != 0 || got.DryRun != dry || got.Counts.LeftOut[ledger.RejectedAcknowledged] != settled {
				t.Errorf("a redrive of what is settled: %+v, want %d left out as acknowledged", got, settled)
			}
		}
		all := []string{"runs", "redrive", "--job", "bad", "--since", "1h", "--include-acknowledged", "--dry-run"}
		if got := s.acted(0, all...); len(got.Changed) != settled-1 || got.Counts.LeftOut[ledger.RejectedRerun] != 1 {
			t.Errorf("%+v: want all but the one that was rerun", got)
		}
		if got := s.acted(0, append(all, "--may-double")...); len(got.Changed) != settled {
			t.Errorf("%+v: want all", got)
		}
	})
}

// A run that is canceled in flight stays canceled, whatever its call answers;
// a triggered one stands beside it.
func TestCancelAndTrigger(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc, url := newPartly(t)
		s := newSite(t, db, url)
		eventually(t, "the scheduler", func() bool { _, n := svc.count(); return n >= 1 })
		s.do(0, "jobs", "pause", "tick", "--why", "quiet")
		s.do(0, "jobs", "pause", "bad", "--why", "quiet")
		hang := make(chan struct{})
		svc.set(hang)
		trigger := spawn(t, []string{"SVC_URL=" + url, "USER=ann"}, "trigger", "slow", "--why", "now", "--config", s.config, "--db", db)
		eventually(t, "the triggered run in flight", func() bool { return len(s.runs("--job", "slow", "--state", "running")) == 1 })
		id := s.runs("--job", "slow")[0].RunID
		for state, want := range map[string]int{"running": 1, "planned,retrying": 0} {
			if got := s.acted(0, "runs", "cancel", "--state", state, "--dry-run"); len(got.Changed) != want {
				t.Errorf("of the state %s %+v would be canceled, want %d", state, got.Changed, want)
			}
		}
		if got := s.acted(0, "runs", "cancel", id); len(got.Changed) != 1 || got.Changed[0].State != "canceled" {
			t.Errorf("canceled %+v", got)
		}
		svc.set(nil)
		close(hang)
		if code := trigger.Wait(); code != exitFailed {
			t.Errorf("the canceled trigger ends with %d", code)
		}
		if r := s.show(id); r.State != "canceled" || r.Reason != "operator" || r.By != "ann" || len(r.History) != 1 {
			t.Errorf("run %+v", r)
		}
		if got := s.acted(1, "runs", "cancel", id); len(got.Refused) != 1 {
			t.Errorf("canceled twice: %+v", got)
		}
		var run operations.Run
		if err := json.Unmarshal([]byte(s.do(0, "trigger", "slow", "--json")), &run); err != nil || run.State != "succeeded" || run.Trigger != "manual" {
			t.Errorf("triggered %+v, %v", run, err)
		}
	})
}

// An edit is shown before it is served, and not any more once it is.
func TestDiffBeforeAndAfterAnEdit(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc, url := newPartly(t)
		s := newSite(t, db, url)
		eventually(t, "the scheduler", func() bool { _, n := svc.count(); return n >= 1 })
		if out := s.do(0, "diff"); !strings.Contains(out, "4 same") {
			t.Errorf("diff of what is served:\n%s", out)
		}
		s.config = writeFile(t, strings.Replace(operated, `id: slow, schedule: "@yearly"`, `id: slow, schedule: "@hourly"`, 1))
		if out := s.do(exitChanges, "diff"); !strings.Contains(out, "slow: changed") || !strings.Contains(out, "@hourly") {
			t.Errorf("diff of an edit:\n%s", out)
		}
		s.serve.Interrupt()
		s.start()
		eventually(t, "the edit to be served", func() bool {
			code, _, _ := invoke(t, nil, "diff", "--config", s.config, "--db", db)
			return code == 0
		})
	})
}
