package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

// childEnv makes the test binary a writer: its value is the ledger's path.
const childEnv = "CRONCE_TEST_WRITER"

var killSeed = flag.Uint64("seed", rand.Uint64(), "when the writers are killed; a new one each time, which the test logs")

// A writer is killed at random points of its transactions, time after time,
// while another goes on beside it; then the ledger is looked at.
func TestKilledWritersLeaveOneRowForEachScheduledTime(t *testing.T) {
	t.Logf("-seed %d", *killSeed)
	random := rand.New(rand.NewPCG(*killSeed, 0))
	path := newFile(t)
	survivor := startWriter(t, path)
	told := map[string]int64{}
	survivor.follow(t, 1, told) // the jobs have begun
	for range 8 {
		w := startWriter(t, path)
		w.follow(t, 1+random.IntN(12), told)
		w.kill(t)
	}
	survivor.follow(t, 5, told)
	survivor.kill(t)
	checkLedger(t, path, told)
}

// writer is a child process that writes in a loop, and prints a line for each
// admission that was committed: the job and its new watermark.
type writer struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startWriter(t *testing.T, path string) *writer {
	t.Helper()
	w := &writer{cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), childEnv+"="+path)
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewScanner(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// follow reads n committed admissions; told keeps the last of each job.
func (w *writer) follow(t *testing.T, n int, told map[string]int64) {
	t.Helper()
	for range n {
		if !w.lines.Scan() {
			t.Fatalf("the writer ended by itself: %v", w.lines.Err())
		}
		var job string
		var watermark int64
		if _, err := fmt.Sscan(w.lines.Text(), &job, &watermark); err != nil {
			t.Fatalf("the writer said %q: %v", w.lines.Text(), err)
		}
		told[job] = max(told[job], watermark)
	}
}

func (w *writer) kill(t *testing.T) {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	w.cmd.Wait() // killed, so it fails
}

// checkLedger counts, in the file itself, the scheduled times of each job from its
// first watermark on: each second has one row, or a range counts it. What was
// leased by the killed can be finished, and no attempt is forgotten.
func checkLedger(t *testing.T, path string, told map[string]int64) {
	t.Helper()
	drain(t, path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var sound string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&sound); err != nil || sound != "ok" {
		t.Fatalf("integrity: %s, %v", sound, err)
	}
	var odd int
	if err := db.QueryRow(`
		SELECT count(*) FROM runs r WHERE until IS NULL
		AND (state <> 'succeeded' OR attempt <> (first_answer IS NOT NULL) + (SELECT count(*) FROM attempts WHERE run = r.id))`).Scan(&odd); err != nil || odd > 0 {
		t.Errorf("%d runs did not succeed or lack an attempt: %v", odd, err)
	}
	rows, err := db.Query(`
		SELECT j.job_id, watermark / 1000000, (SELECT min(at) / 1000000 + 1 FROM events e WHERE e.job_id = j.job_id), max(coalesce(until, scheduled_at)) / 1000000,
			sum(count), count(*)
		FROM jobs j JOIN runs USING (job_id) GROUP BY j.job_id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	jobs := 0
	for rows.Next() {
		jobs++
		var job string
		var watermark, first, last, instants, n int64
		if err := rows.Scan(&job, &watermark, &first, &last, &instants, &n); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d scheduled times in %d rows", job, instants, n)
		if last != watermark {
			t.Errorf("%s: the watermark is %d and the last row's scheduled time %d", job, watermark, last)
		}
		if want := watermark - first + 1; instants != want {
			t.Errorf("%s: rows stand for %d scheduled times, want %d", job, instants, want)
		}
		if watermark < told[job] {
			t.Errorf("%s: the watermark is %d, and %d was committed", job, watermark, told[job])
		}
	}
	if err := rows.Err(); err != nil || jobs != writtenJobs {
		t.Errorf("%d jobs, want %d: %v", jobs, writtenJobs, err)
	}
}

// drain finishes what the killed left, after their leases.
func drain(t *testing.T, path string) {
	t.Helper()
	c := &clock{}
	c.shift.Store(int64(24*time.Hour + 2*time.Minute))
	l := open(t, path, c)
	for i := 0; ; i++ {
		got, err := l.Claim(t.Context(), ledger.ClaimRequest{Process: "w", Token: "drain-" + strconv.Itoa(i), Limit: 500, LeaseFor: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Work) == 0 {
			return
		}
		recordAll(t, l, got.Work)
	}
}

const writtenJobs = 3

// writeUntilKilled is the child's life: it plans, records and claims for ever.
func writeUntilKilled(path string) error {
	ctx := context.Background()
	var c clock
	process := strconv.Itoa(os.Getpid())
	l, err := sqlite.Open(ctx, path, sqlite.Options{Now: c.now, BusyTimeout: time.Minute})
	if err != nil {
		return err
	}
	var defs []ledger.Definition
	d := ledger.Declaration{Process: process, Registry: "acme", Version: "v1"}
	for i := range writtenJobs {
		defs = append(defs, ledger.Definition{JobID: "job-" + strconv.Itoa(i), Hash: "h"})
	}
	d.Definitions = slices.Values(defs)
	begun, err := l.Assignments(ctx, "", "")
	if err != nil {
		return err
	}
	if len(begun) > 0 { // the others' clock, for a ledger follows one that is set back
		c.shift.Store(int64(24 * time.Hour))
	}
	if err := l.Declare(ctx, d); err != nil {
		return err
	}
	if _, err := l.Assignments(ctx, "v1", ""); err != nil {
		return err
	}
	// A day is left to plan, a second at a time.
	c.shift.Store(int64(24 * time.Hour))
	for i := 0; ; i++ {
		if err := writeOnce(ctx, l, process+"-"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
}

func writeOnce(ctx context.Context, l *sqlite.Ledger, token string) error {
	stands, err := l.Assignments(ctx, "v1", "")
	if err != nil {
		return err
	}
	a := ledger.Admission{Process: "w", Token: token, LeaseFor: time.Minute}
	for _, s := range stands {
		a.Plans = append(a.Plans, writtenPlan(s))
	}
	got, err := l.Admit(ctx, a)
	if err != nil {
		return err
	}
	stale := map[string]bool{}
	for _, pos := range got.Stale {
		stale[pos.JobID] = true
	}
	for _, p := range a.Plans {
		if !stale[p.JobID] {
			fmt.Println(p.JobID, p.Through.Unix())
		}
	}
	more, err := l.Claim(ctx, ledger.ClaimRequest{Process: "w", Token: token + "c", Limit: 5, LeaseFor: time.Minute})
	if err != nil {
		return err
	}
	var outcomes []ledger.Outcome
	for _, w := range append(got.Leased, more.Work...) {
		outcomes = append(outcomes, ledger.Outcome{
			Lease: lease(w), State: ledger.Succeeded, Attempt: ledger.Attempt{N: w.Attempt, Answer: ledger.AnswerFresh},
		})
	}
	_, err = l.Record(ctx, outcomes)
	return err
}

// writtenPlan is a dozen scheduled times to run and a range of missed ones.
func writtenPlan(s ledger.JobAssignment) ledger.Plan {
	p := ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark}
	next := s.Watermark.Truncate(time.Second)
	for i := range 12 {
		next = next.Add(time.Second)
		p.Runs = append(p.Runs, ledger.RunSpec{
			RunID: idOf(s.JobID, next), ScheduledAt: next, Count: 1, State: ledger.Planned,
			Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow, Call: call(s.JobID, next), Lease: i%2 == 0,
		})
	}
	first := next.Add(time.Second)
	next = next.Add(30 * time.Second)
	p.Runs = append(p.Runs, ledger.RunSpec{
		RunID: idOf(s.JobID, first) + "/" + next.Format(time.RFC3339), ScheduledAt: first, Until: next, Count: 30,
		State: ledger.Missed, Reason: ledger.ReasonCatchUpNone, Trigger: ledger.BySchedule,
	})
	p.Through = next
	return p
}
