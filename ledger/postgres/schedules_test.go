package postgres_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// A batch waits for the network five times, and once more for the slots of its runs, however
// many schedules it has.
func TestPlanningABatchOfSchedulesTakesFewRoundTrips(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	must(t, f.Close())
	relay := testdb.NewRelay(t, f.url)
	f.open(t, relay.URL, postgres.PoolSize(1))
	must(t, f.Declare(t.Context(), ledger.Declaration{Process: "p", Registry: "acme", Version: "t", Definitions: func(yield func(ledger.Definition) bool) {
		yield(ledger.Definition{JobID: "t", Hash: "t", Body: []byte(`{}`)})
	}}))
	_, err := f.Assignments(t.Context(), "t", "")
	must(t, err)
	c := ledger.ChangeSchedulesRequest{Template: "t", Rules: minutes{}, Actor: ledger.Actor{By: "ann", Why: "asked"}}
	for i := range 100 {
		c.Items = append(c.Items, ledger.ScheduleChange{JobID: fmt.Sprint("t:", i), ScheduleContent: ledger.ScheduleContent{Expr: "1m"}})
	}
	_, err = f.ChangeSchedules(t.Context(), c)
	must(t, err)
	execute(t, f.url, `UPDATE cronce.positions SET next_at = now()`)
	before := relay.Trips()
	got, err := f.PlanSchedules(t.Context(), ledger.SchedulePlanning{
		Templates: []ledger.TemplateRevision{{Template: "t", Revision: 1}}, Rules: minutes{}, Process: "p", Token: "token", LeaseFor: time.Minute,
	})
	must(t, err)
	if len(got.Plans) != 100 || relay.Trips()-before > 5 {
		t.Errorf("%d schedules were planned in %d round trips", len(got.Plans), relay.Trips()-before)
	}
}

// wholeSchedules matches a statement that reads more schedules than it needs.
var wholeSchedules = regexp.MustCompile(`Seq Scan on (cronce\.)?(runs|schedules|positions)|Rows Removed by .*: \d{4,}`)

// Of 100,000 schedules that wait, and as many that are due of a template that no process
// has, each operation reads what it is about.
func TestSchedulesAreFoundByTheirIndexes(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		INSERT INTO cronce.schedule_templates (name, live) VALUES ('t', 100000), ('unknown', 100000);
		INSERT INTO cronce.schedules (job_id, generation, created_at, changed_at, expr, timezone, dst, changed_by)
		SELECT CASE WHEN i % 2 = 0 THEN 't:' ELSE 'unknown:' END || i, 0, now(), now(), '1m', 'UTC', '', 'ann' FROM generate_series(1, 200000) i;
		INSERT INTO cronce.positions (id, template, revision, watermark, next_at)
		SELECT s.id, t.id, 1, now(), now() + CASE WHEN t.name = 't' AND s.id % 1000 <> 0 THEN interval '1 hour' ELSE interval '-1 minute' END
		FROM cronce.schedules s JOIN cronce.schedule_templates t ON s.job_id LIKE t.name || ':%';
		ANALYZE cronce.schedules; ANALYZE cronce.positions`)
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	must(t, f.Declare(t.Context(), ledger.Declaration{Process: "p", Registry: "acme", Version: "t", Definitions: func(yield func(ledger.Definition) bool) {
		yield(ledger.Definition{JobID: "t", Hash: "t", Body: []byte(`{}`)})
	}}))
	_, err := f.Assignments(t.Context(), "t", "")
	must(t, err)
	for range 8 { // often enough for generic plans
		got, err := f.PlanSchedules(t.Context(), ledger.SchedulePlanning{
			Templates: []ledger.TemplateRevision{{Template: "t", Revision: 1}}, Rules: minutes{}, Process: "p", Token: "token", LeaseFor: time.Minute,
		})
		must(t, err)
		if len(seen.texts) < 30 && len(got.Plans) == 0 {
			t.Fatalf("nothing was due: %+v", got)
		}
		_, err = f.Schedules(t.Context(), ledger.ScheduleFilter{Template: "t", AfterKey: "150000", Limit: 50})
		must(t, err)
		results, err := f.ChangeSchedules(t.Context(), ledger.ChangeSchedulesRequest{
			Template: "t", Rules: minutes{}, Actor: ledger.Actor{By: "ann", Why: "asked"},
			Items: []ledger.ScheduleChange{{JobID: "t:150000", ScheduleContent: ledger.ScheduleContent{Expr: time.Now().String()}}, {JobID: "t:new" + time.Now().Format("150405.000000")}},
		})
		must(t, err)
		if results[0].Err != nil || results[1].Err != nil {
			t.Fatalf("%+v", results)
		}
		_, err = f.SweepSchedules(t.Context(), ledger.ScheduleSweep{
			TemplateRevision: ledger.TemplateRevision{Template: "t", Revision: 1, Hash: "t"}, Rules: minutes{}, After: 5000,
		})
		must(t, err)
		_, err = f.PurgeHistory(t.Context(), ledger.HistoryPurge{})
		must(t, err)
	}
	explained := 0
	for _, p := range seen.texts {
		if strings.Contains(p, "positions") {
			explained++
		}
		if wholeSchedules.MatchString(p) {
			t.Errorf("too much was read:\n%s", p)
		}
	}
	if explained < 20 {
		t.Errorf("the server explained %d statements on schedules", explained)
	}
}

// minutes are the rules of schedules that are due each minute.
type minutes struct{}

func (minutes) Begin(_ *ledger.Schedule, _, now time.Time) (time.Time, error) { return now, nil }

func (minutes) Plan(s *ledger.Schedule, now time.Time, _ bool) (p ledger.Plan, next time.Time, err error) {
	p = ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: now.Truncate(time.Second)}
	if p.Through.Before(p.After) {
		p.Through = p.After
	}
	return p, p.Through.Truncate(time.Minute).Add(time.Minute), nil
}

func (minutes) Next(s *ledger.Schedule) (time.Time, error) {
	return s.Watermark.Truncate(time.Minute).Add(time.Minute), nil
}

// A backup that takes hours keeps each former next_at in the index. A look for due schedules reads
// them once a minute, and not four times a second.
func TestALookForDueSchedulesDoesNotReadWhatABackupKeeps(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	must(t, f.Close())
	execute(t, f.url, `
		INSERT INTO cronce.schedule_templates (name, live) VALUES ('t', 20000);
		INSERT INTO cronce.schedules (job_id, generation, created_at, changed_at, expr, timezone, dst, changed_by)
		SELECT 't:' || i, 0, now(), now(), '1m', 'UTC', '', 'ann' FROM generate_series(1, 20000) i;
		INSERT INTO cronce.positions (id, template, revision, watermark, next_at) SELECT id, 1, 1, now(), now() - interval '1 hour' FROM cronce.schedules;
		ANALYZE cronce.positions`)
	backup, err := pgx.Connect(t.Context(), f.url)
	must(t, err)
	defer backup.Close(t.Context())
	_, err = backup.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM cronce.positions`, pgx.QueryExecModeSimpleProtocol)
	must(t, err)
	execute(t, f.url, `UPDATE cronce.positions SET next_at = now() + interval '1 hour'`)
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	must(t, f.Declare(t.Context(), ledger.Declaration{Process: "p", Registry: "acme", Version: "t", Definitions: func(yield func(ledger.Definition) bool) {
		yield(ledger.Definition{JobID: "t", Hash: "t", Body: []byte(`{}`)})
	}}))
	_, err = f.Assignments(t.Context(), "t", "")
	must(t, err)
	look := func() (read int) {
		begin := len(seen.texts)
		_, err := f.PlanSchedules(t.Context(), ledger.SchedulePlanning{Templates: []ledger.TemplateRevision{{Template: "t", Revision: 1}}, Rules: minutes{}})
		must(t, err)
		for _, text := range seen.texts[begin:] {
			for _, found := range heapFetches.FindAllStringSubmatch(text, -1) {
				n, _ := strconv.Atoi(found[1])
				read += n
			}
		}
		return read
	}
	if all, next := look(), look(); all < 20000 || next > 100 {
		t.Errorf("the first look reads %d rows, want all former ones; the next one %d, want few", all, next)
	}
}

var heapFetches = regexp.MustCompile(`Heap Fetches: (\d+)`)
