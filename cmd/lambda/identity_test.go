package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
)

const (
	newYorkJobs = `  - { id: fixed, schedule: "30 2 * * *", %s }
  - { id: hourly, schedule: "0 * * * *", %[1]s }
  - { id: folded, schedule: "30 1 * * *", %[1]s }
  - { id: skipping, schedule: "30 2 * * *", dst: skip, %[1]s }
`
	// newYorkRest lets events of last year be sent, since the keys are kept
	// for years.
	newYorkRest = `timezone: America/New_York, target: membership, path: /v1/admin/books/close-day, overlap: allow, retry: { horizon: 40000h }`
)

// shifts are last year's clock changes in a zone.
func shifts(t *testing.T, zone string) []time.Time {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	var found []time.Time
	from := time.Date(time.Now().Year()-1, 1, 1, 0, 0, 0, 0, time.UTC)
	_, before := from.In(loc).Zone()
	for at := from; at.Year() == from.Year(); at = at.Add(time.Hour) {
		if _, is := at.In(loc).Zone(); is != before {
			found, before = append(found, at), is
		}
	}
	if len(found) != 2 {
		t.Fatalf("%d shifts", len(found))
	}
	return found
}

// nextOf is what `cronce next` prints.
func nextOf(t *testing.T, config, job string, from time.Time, n int) []string {
	t.Helper()
	out, err := exec.Command(binary(t, "cronce"), "next", job, "--config", config, "--json",
		"--from", from.Format(time.RFC3339), "-n", fmt.Sprint(n)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var times []string
	if err := json.Unmarshal(out, &times); err != nil {
		t.Fatal(err)
	}
	return times
}

func ruleEvent(id, job, at string) string {
	return fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"Scheduled Event","source":"aws.events","account":"123456789012",
		"time":%q,"region":"eu-west-1","resources":["arn:aws:events:eu-west-1:123456789012:rule/%s"],"detail":{}}`, id, at, job)
}

// Events of both kinds, up to 59 s late and doubled, make exactly the runs that
// `cronce next` prints.
func TestRunIDsAreThoseThatNextPrintsAcrossBothShifts(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg := newTarget(t)
		config := registryFile(t, fmt.Sprintf(newYorkJobs, newYorkRest))
		fn := tg.function(config, db)
		want := map[string]bool{}
		for _, shift := range shifts(t, "America/New_York") {
			for job, n := range map[string]int{"fixed": 3, "hourly": 8, "folded": 3, "skipping": 3} {
				for i, at := range nextOf(t, config, job, shift.Add(-4*time.Hour), n) {
					late, _ := time.Parse(time.RFC3339, at)
					late = late.Add(time.Duration(i*17%60) * time.Second)
					runID := job + "@" + at
					want[runID] = true
					events := []string{
						fmt.Sprintf(`{"jobId":%q,"scheduledAt":%q}`, job, at),
						ruleEvent("3c7f3f4e-0000-4000-8000-00000000000"+fmt.Sprint(i), job, late.Format(time.RFC3339)),
						ruleEvent("another", job, late.Add(59*time.Second-late.Sub(late.Truncate(time.Minute))).Format(time.RFC3339)),
					}
					for _, e := range events {
						succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r", Payload: e}), runID)
					}
				}
			}
		}
		var ids []string
		for id := range want {
			ids = append(ids, id)
		}
		tg.wantEffects(ids...)
	})
}

func TestAnEventThirtyHoursOldIsRefused(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg := newTarget(t)
		fn := tg.function(registryFile(t, releaseJob), db)
		old := minute().Add(-30 * time.Hour)
		for _, payload := range []string{releaseEvent(old), ruleEvent("e-1", "release", old.Format(time.RFC3339))} {
			out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: payload})
			if out.Error == nil || !strings.Contains(out.Error.Message, "old") || !strings.Contains(out.Error.Message, releaseRun(old)) {
				t.Errorf("outcome %+v %s", out, out.Response)
			}
		}
		tg.wantEffects()
	})
}

// With a ledger, an event that comes long after its run has succeeded is a
// repeat, and done; one whose run is unfinished is refused as before.
func TestALateRepeatIsAnsweredFromTheLedger(t *testing.T) {
	db := testdb.Postgres(t)
	l, tg := migrated(t, db), newTarget(t)
	fn := tg.function(registryFile(t, releaseJob), db)
	done, open := minute().Add(-30*time.Hour), minute().Add(-31*time.Hour)
	for _, at := range []time.Time{done, open} {
		i := ledger.RunSpec{
			RunID: releaseRun(at), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow,
			Call: ledger.CallSpec{Target: "membership", Method: "POST", Path: "/x", Timeout: time.Second, Horizon: time.Hour}, Lease: true,
		}
		e := ledger.Entry{JobID: "release", RunSpec: i, Process: "test", Token: "t-" + at.Format("15"), LeaseFor: time.Minute}
		if _, err := l.Enter(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	lease := ledger.Lease{RunID: releaseRun(done), Token: "t-" + done.Format("15")}
	if _, err := l.Record(t.Context(), []ledger.Outcome{{Lease: lease, State: ledger.Succeeded}}); err != nil {
		t.Fatal(err)
	}
	succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r", Payload: releaseEvent(done)}), releaseRun(done))
	out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: releaseEvent(open)})
	if out.Error == nil || out.Error.Type != "cronce.Refused" {
		t.Errorf("outcome %+v %s", out, out.Response)
	}
	tg.wantEffects()
}

func TestAnEventThatFitsNoScheduledTimeIsWorkUnderItsOwnID(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg := newTarget(t)
		fn := tg.function(registryFile(t, strings.Replace(releaseJob, "* * * * *", "0 0 1 1 *", 1)), db)
		at := time.Now().UTC().Truncate(time.Second).Add(-time.Minute).Format(time.RFC3339)
		ev := fakelambda.Event{RequestID: "r", Payload: ruleEvent("17793124-05d4-b198-2fde-7ededc63b103", "release", at)}
		runID := "release@" + at + "~17793124-05d4-b198-2fde-7ededc63b103"
		for range 3 {
			succeeded(t, fn.Invoke(ev), runID)
			fn.Kill()
		}
		tg.wantEffects(runID)
	})
}

// A batch of ten, two of them poison: those two alone are reported.
func TestABatchReportsItsPoisonMessagesAlone(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg := newTarget(t)
		fn := tg.function(registryFile(t, strings.Replace(releaseJob, "target:", "overlap: queue, target:", 1)), db)
		var records, want []string
		newest := minute()
		for i := range 10 {
			body := releaseEvent(newest.Add(-time.Duration(i) * time.Minute))
			switch i {
			case 3:
				body = `{"jobId":"no-such-job","scheduledAt":"2026-11-21T03:00:00Z"}`
			case 7:
				body = "poison"
			case 5: // a rule's event
				at := newest.Add(-5 * time.Minute)
				body = ruleEvent("e-5", "release", at.Add(30*time.Second).Format(time.RFC3339))
			}
			if i != 3 && i != 7 {
				want = append(want, releaseRun(newest.Add(-time.Duration(i)*time.Minute)))
			}
			text, _ := json.Marshal(body)
			records = append(records, fmt.Sprintf(`{"messageId":"m-%d","body":%s,"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q"}`, i, text))
		}
		ev := fakelambda.Event{RequestID: "r", Payload: `{"Records":[` + strings.Join(records, ",") + `]}`}
		for range 2 {
			out := fn.Invoke(ev)
			if got := string(out.Response); got != `{"batchItemFailures":[{"itemIdentifier":"m-3"},{"itemIdentifier":"m-7"}]}` {
				t.Errorf("outcome %+v: %s", out, got)
			}
		}
		tg.wantEffects(want...)
	})
}

// Ticks alone plan and run the registry.
func TestATickRunsWhatIsDue(t *testing.T) {
	t.Parallel()
	db, tg := testdb.Postgres(t), newTarget(t)
	l := migrated(t, db)
	fn := tg.function(registryFile(t, strings.Replace(releaseJob, `"* * * * *"`, `"* * * * * *", overlap: queue`, 1)), db)
	for i := range 3 {
		<-time.After(2 * time.Second) // something comes due
		out := fn.Invoke(fakelambda.Event{RequestID: fmt.Sprint("r-", i), Payload: `{"tick":true}`})
		if string(out.Response) != `{"tick":true}` {
			t.Fatalf("outcome %+v: %s", out, out.Response)
		}
	}
	if n := len(tg.effects()); n < 3 {
		t.Errorf("%d effects", n)
	}
	for id, n := range tg.effects() {
		if run, _, err := l.Get(t.Context(), id); n != 1 || err != nil || run.State != "succeeded" {
			t.Errorf("%s: %d effects, %+v, %v", id, n, run, err)
		}
	}
}

// A tick a minute, itself late, finds what came due since the last one on time:
// catchUp none would otherwise lose two of three scheduled times.
func TestATickTakesTwoMinutesAsOnTime(t *testing.T) {
	t.Parallel()
	db, tg := testdb.Postgres(t), newTarget(t)
	l := migrated(t, db)
	fn := tg.function(registryFile(t, strings.Replace(releaseJob, `"* * * * *"`, `"*/10 * * * * *", overlap: allow, catchUp: none`, 1)), db)
	tick := fakelambda.Event{RequestID: "r", Payload: `{"tick":true}`}
	if out := fn.Invoke(tick); out.Error != nil {
		t.Fatalf("outcome %+v", out)
	}
	c, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), `UPDATE cronce.jobs SET watermark = watermark - interval '70 s' WHERE job_id = 'release'`); err != nil {
		t.Fatal(err)
	}
	if out := fn.Invoke(tick); out.Error != nil {
		t.Fatalf("outcome %+v", out)
	}
	runs := mustRuns(t, l, ledger.Filter{JobID: "release"})
	if len(runs) < 7 {
		t.Errorf("%d runs", len(runs))
	}
	for _, r := range runs {
		if r.State != ledger.Succeeded {
			t.Errorf("%s is %s (%s)", r.ID, r.State, r.Reason)
		}
	}
}
