package sqlite_test

import (
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

// fullScan matches a step that reads all rows of a table that grows with what
// ran. To read an index of the unfinished, the waiting or the dead from end to
// end is fine, and so is one in the order of a listing that has a limit.
var fullScan = regexp.MustCompile(`^SCAN (runs|attempts|events|definitions|schedules|positions)( USING (COVERING )?INDEX (\w+))?$`)

var boundedIndex = map[string]bool{"runs_due": true, "runs_waiting": true, "runs_dead": true, "runs_listed": true}

func TestEveryQueryUsesAnIndex(t *testing.T) {
	path := newFile(t)
	f := &fleet{clock: &clock{}, overlap: ledger.OverlapSkip}
	f.Ledger = open(t, path, f.clock)
	f.everything(t)
	f.schedules(t)

	queries := append(f.Statements(), reads(t, f.Ledger)...)
	for _, filter := range filters {
		for _, direction := range []string{"ASC", "DESC"} {
			q, _ := sqlite.SelectRuns(filter, direction)
			queries = append(queries, q)
		}
	}
	for _, page := range []ledger.AuditFilter{{}, {JobID: "a"}, {By: "me", Before: 7}, {RunID: "a@b"}} {
		q, _ := sqlite.SelectAudit(page)
		queries = append(queries, q)
	}
	db := direct(t, path)
	for _, q := range queries {
		for _, step := range explain(t, db, q) {
			if m := fullScan.FindStringSubmatch(step); m != nil && !boundedIndex[m[4]] {
				t.Errorf("%s\n\t%s", q, step)
			}
		}
	}
}

// What is asked of a few jobs does not cost what all cost.
func TestAFewJobsAreFoundByTheirIDs(t *testing.T) {
	db := planned(t)
	for _, q := range sqlite.ReadsOfFewJobs() {
		for _, step := range explain(t, db, q) {
			if strings.HasPrefix(step, "SCAN runs") || strings.HasPrefix(step, "SCAN jobs") {
				t.Errorf("%s\n\t%s", q, step)
			}
		}
	}
}

// Dead runs that nobody has acknowledged are few among very many.
func TestDeadRunsAreFoundByTheirIndex(t *testing.T) {
	path := newFile(t)
	l := open(t, path, &clock{})
	db := direct(t, path)
	for _, job := range []string{"", "a"} {
		q, _ := sqlite.SelectRuns(ledger.Filter{JobID: job, States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: 100}, "DESC")
		if steps := strings.Join(explain(t, db, q), "; "); !strings.Contains(steps, "runs_dead") {
			t.Errorf("%s\n\t%s", q, steps)
		}
	}
	for _, q := range reads(t, l) { // counts, which no limit ends
		if steps := strings.Join(explain(t, db, q), "; "); strings.Contains(q, "count(*)") && strings.Contains(steps, "SCAN runs USING INDEX runs_listed") {
			t.Errorf("%s\n\t%s", q, steps)
		}
	}
	q := sqlite.TallyJob()
	if steps := strings.Join(explain(t, db, q), "; "); !strings.Contains(steps, "(run_id>? AND run_id<?)") {
		t.Errorf("%s\n\t%s", q, steps)
	}
}

var filters = []ledger.Filter{
	{Limit: 100},
	{IDs: []string{"a@b"}, Limit: 100},
	{JobID: "a", Limit: 100},
	{JobID: "a", Limit: 100, Before: &ledger.Cursor{ScheduledAt: time.Now(), ID: "a@b"}},
	{Limit: 100, Before: &ledger.Cursor{ScheduledAt: time.Now(), ID: "a@b"}},
	{States: []ledger.State{ledger.Dead}, Unacknowledged: true},
	{Since: time.Now(), Until: time.Now(), Limit: 100},
}

// Runs in a state that is rare are found by an index, in the order of the listing.
func TestExceptionalRunsAreFoundByTheirIndex(t *testing.T) {
	db := planned(t)
	for _, state := range ledger.Exceptional {
		for _, c := range []struct {
			filter ledger.Filter
			index  string
		}{
			{ledger.Filter{States: []ledger.State{state}, Limit: 50}, "runs_exceptions (state=?)"},
			{ledger.Filter{States: []ledger.State{state}, Since: time.Now(), Limit: 50}, "runs_exceptions (state=? AND scheduled_at>?)"},
			{ledger.Filter{JobID: "a", States: []ledger.State{state}, Limit: 50}, "runs_job_exceptions (state=? AND run_id>? AND run_id<?)"},
			{ledger.Filter{Reason: ledger.ReasonExhausted, Limit: 50}, "runs_exceptions (state=?)"},
		} {
			q, _ := sqlite.SelectRuns(c.filter, "DESC")
			steps := strings.Join(explain(t, db, q), "; ")
			if !strings.Contains(steps, c.index) || strings.Contains(steps, "TEMP B-TREE") {
				t.Errorf("%s\n\t%s\n\twant %s, and no sort", q, steps, c.index)
			}
		}
	}
}

func reads(t *testing.T, l *sqlite.Ledger) []string {
	t.Helper()
	queries, err := l.Reads(t.Context())
	if err != nil || len(queries) < 60 {
		t.Fatalf("%d queries, %v", len(queries), err)
	}
	return queries
}

// planned is an empty ledger's file, opened beside it.
func planned(t *testing.T) *sql.DB {
	path := newFile(t)
	open(t, path, &clock{})
	return direct(t, path)
}

func direct(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func explain(t *testing.T, db *sql.DB, q string) (steps []string) {
	t.Helper()
	if word := strings.Fields(q)[0]; word == "BEGIN" || word == "COMMIT" || word == "ROLLBACK" {
		return nil
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+q, make([]any, parameters(q))...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// parameters counts a statement's parameters, ? or numbered.
func parameters(q string) (n int) {
	for _, m := range regexp.MustCompile(`[?$](\d+)|\?`).FindAllStringSubmatch(q, -1) {
		if i, err := strconv.Atoi(m[1]); err == nil {
			n = max(n, i)
		} else {
			n++
		}
	}
	return n
}

// What is unfinished is little, and is not looked for among all that ran.
func TestTheUnfinishedAreReadFromTheirIndexes(t *testing.T) {
	db := planned(t)
	for _, f := range []ledger.Filter{
		{States: []ledger.State{ledger.Planned, ledger.Running, ledger.Retrying}},
		{States: []ledger.State{ledger.Running}, Limit: 100},
		{States: []ledger.State{ledger.Running}, Since: time.Now(), Reason: ledger.ReasonOverlap, Limit: 100},
		{States: []ledger.State{ledger.Running}},
	} {
		for _, direction := range []string{"ASC", "DESC"} {
			q, _ := sqlite.SelectRuns(f, direction)
			steps := strings.Join(explain(t, db, q), "\n\t")
			if strings.Contains(steps, "runs_listed") || !strings.Contains(steps, "runs_due") || !strings.Contains(steps, "runs_waiting") {
				t.Errorf("%s\n\t%s", q, steps)
			}
		}
	}
}

// A page of all runs is read in its order: many runs may have one scheduled time.
func TestAListingOfAllRunsIsNotSorted(t *testing.T) {
	db := planned(t)
	for _, f := range []ledger.Filter{
		{Limit: 100},
		{Since: time.Now(), Limit: 100},
		{Before: &ledger.Cursor{ScheduledAt: time.Now(), ID: "a@b"}, Limit: 100},
	} {
		q, _ := sqlite.SelectRuns(f, "DESC")
		if steps := explain(t, db, q); len(steps) != 1 || !strings.Contains(steps[0], "USING INDEX runs_listed") {
			t.Errorf("%+v:\n\t%s\n\t%s", f, q, strings.Join(steps, "\n\t"))
		}
	}
}

// A job's runs are read in the order of their ids, from where the page begins
// to where it is full, and never sorted.
func TestAListingByJobReadsItsIDsInOrder(t *testing.T) {
	db := planned(t)
	now := time.Now()
	cursor := &ledger.Cursor{ScheduledAt: now, ID: "a@b"}
	for _, f := range []ledger.Filter{
		{JobID: "a"},
		{JobID: "a", Limit: 100},
		{JobID: "a", Since: now, Until: now, Limit: 100},
		{JobID: "a", Before: cursor, Limit: 100},
		{JobID: "a", States: []ledger.State{ledger.Succeeded}, Since: now, Before: cursor, Limit: 100},
	} {
		q, _ := sqlite.SelectRuns(f, "DESC")
		steps := explain(t, db, q)
		if want := "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (run_id>? AND run_id<?)"; len(steps) != 1 || steps[0] != want {
			t.Errorf("%+v:\n\t%s\n\t%s\nwant %s", f, q, strings.Join(steps, "\n\t"), want)
		}
	}
}
