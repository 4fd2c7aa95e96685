package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
)

// Under REPEATABLE READ an admission that waited for another would fail, or
// decide about a job as it was before the wait.
func TestTheDatabasesDefaultIsolationIsNotTheLedgers(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''', current_database()); END $$`)
	f.Close()
	f.open(t, f.url)
	movedWhileWaiting(t, f, `UPDATE cronce.jobs SET paused_at = now()`, func(got ledger.Admitted, err error) {
		if err != nil || got.Skipped[ledger.ReasonPaused] != 1 {
			t.Errorf("%+v, %v; want the pause that was committed during the wait to count", got, err)
		}
	})
}

// An admission waits for a job's row, behind an edit of the job. When the edit
// commits, the plan is of an outgoing revision.
func TestARevisionThatEndsWhileAnAdmissionWaitsRefusesIt(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	movedWhileWaiting(t, f, `UPDATE cronce.jobs SET revision = revision + 1`, func(got ledger.Admitted, err error) {
		if err != nil || len(got.Stale) != 1 || got.Stale[0].Revision != 2 || len(got.Leased) != 0 {
			t.Errorf("%+v, %v; want the plan stale, and the new revision", got, err)
		}
	})
}

// An admission waits behind another replica's that admits the same scheduled time.
func TestAWatermarkThatMovesWhileAnAdmissionWaitsRefusesIt(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	movedWhileWaiting(t, f, `UPDATE cronce.jobs SET watermark = watermark + interval '1 s'`, func(got ledger.Admitted, err error) {
		if err != nil || len(got.Stale) != 1 || len(got.Leased) != 0 {
			t.Errorf("%+v, %v; want the plan stale", got, err)
		}
	})
}

// movedWhileWaiting lets an admission wait for somebody else's change of the
// only job.
func movedWhileWaiting(t *testing.T, f *fleet, change string, check func(ledger.Admitted, error)) {
	t.Helper()
	other := begin(t, f.url, change)
	a := ledger.Admission{Plans: []ledger.Plan{f.plan(0, true)}, Process: "p", Token: "t", LeaseFor: time.Minute}
	done := make(chan func())
	go func() {
		got, err := f.Admit(context.WithoutCancel(t.Context()), a)
		done <- func() { check(got, err) }
	}()
	waitForLock(t, f.url)
	must(t, other.Commit(t.Context()))
	(<-done)()
}

// Three replicas plan the same 300 jobs, each in an order of its own, claim and
// record at once.
func TestReplicasNeverDeadlockNorDouble(t *testing.T) {
	const jobs, rounds = 300, 10
	first := newFleet(t, jobs, ledger.OverlapQueue)
	conn, err := pgx.Connect(t.Context(), first.url)
	must(t, err)
	defer conn.Close(t.Context())
	const countDeadlocks = `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`
	var before int // another test may have had the database
	must(t, conn.QueryRow(t.Context(), countDeadlocks).Scan(&before))
	var wg sync.WaitGroup
	for i := range 3 {
		f := &fleet{Store: open(t, first.url), url: first.url, overlap: ledger.OverlapQueue}
		wg.Go(func() { replica(t, f, fmt.Sprintf("p%d", i), rounds) })
	}
	wg.Wait()
	var runs, twice, deadlocks int
	must(t, conn.QueryRow(t.Context(), `
		SELECT count(*), count(*) - count(DISTINCT (job_id, scheduled_at)), (`+countDeadlocks+`)
		FROM cronce.runs`).Scan(&runs, &twice, &deadlocks))
	if deadlocks -= before; runs != jobs*rounds || twice != 0 || deadlocks != 0 {
		t.Errorf("%d runs, %d twice, %d deadlocks; want %d, 0, 0", runs, twice, deadlocks, jobs*rounds)
	}
}

// replica plans every job a second further, rounds times in all replicas
// together, and works off what it gets.
func replica(t *testing.T, f *fleet, process string, rounds int) {
	ctx := context.WithoutCancel(t.Context())
	for {
		stands, err := f.Assignments(ctx, "v1", "")
		if err != nil {
			t.Errorf("assignments: %v", err)
			return
		}
		f.stands = stands
		a := ledger.Admission{Process: process, Token: process + f.token(), LeaseFor: time.Hour}
		for i := range stands {
			if planned := stands[i].Watermark.Sub(stands[i].Watermark.Truncate(24 * time.Hour)); planned < time.Duration(rounds)*time.Second {
				a.Plans = append(a.Plans, f.plan(i, true))
			}
		}
		rand.Shuffle(len(a.Plans), func(i, k int) { a.Plans[i], a.Plans[k] = a.Plans[k], a.Plans[i] })
		got, err := f.Admit(ctx, a)
		if err != nil {
			t.Errorf("admit: %v", err)
			return
		}
		claimed, err := f.Claim(ctx, ledger.ClaimRequest{Process: process, Token: process + f.token(), Limit: 100, LeaseFor: time.Hour})
		if err != nil {
			t.Errorf("claim: %v", err)
			return
		}
		if !finish(t, f, append(got.Leased, claimed.Work...)) {
			return
		}
		if len(a.Plans) == 0 && len(claimed.Work) == 0 {
			return
		}
	}
}

func finish(t *testing.T, f *fleet, work []ledger.Work) bool {
	var outcomes []ledger.Outcome
	for _, w := range work {
		outcomes = append(outcomes, succeeded(w))
	}
	results, err := f.Record(context.WithoutCancel(t.Context()), outcomes)
	if err != nil {
		t.Errorf("record: %v", err)
	}
	for i, result := range results {
		if result != ledger.Recorded {
			t.Errorf("%s: %s, want it recorded: nobody else had the lease", work[i].RunID, result)
		}
	}
	return err == nil
}

// A request is kept to the byte, whatever JSON says is the same.
func TestABodyIsKeptToTheByte(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapAllow)
	p := f.plan(0, false)
	const body = "{ \"b\":1.0,\t\"a\":\"<&>\\u0041 \u2028\", \"a\":1e2 }\n"
	p.Runs[0].Call.Body = json.RawMessage(body)
	_, err := f.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{p}, Process: "p", Token: "t", LeaseFor: time.Minute})
	must(t, err)
	got, err := f.Claim(t.Context(), ledger.ClaimRequest{Process: "p", Token: "u", Limit: 1, LeaseFor: time.Minute})
	if err != nil || len(got.Work) != 1 || string(got.Work[0].Call.Body) != body {
		t.Errorf("claimed %+v, %v; want the body %q", got.Work, err, body)
	}
}

// PostgreSQL stores neither NUL nor bytes that are no UTF-8; an answer that has
// them must not make its record, and those beside it, impossible.
func TestAnOddErrorTextIsRecorded(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapAllow)
	o := succeeded(f.admit(t, true)[0])
	o.Attempt.Error, o.Attempt.Code = "bad \x00 byte \xff", "\x00"
	results, err := f.Record(t.Context(), []ledger.Outcome{o})
	if err != nil || results[0] != ledger.Recorded {
		t.Fatalf("%v, %v", results, err)
	}
	_, attempts, err := f.Get(t.Context(), o.RunID)
	if err != nil || len(attempts) != 1 || attempts[0].Error != "bad \uFFFD byte \uFFFD" {
		t.Errorf("%+v, %v", attempts, err)
	}
}

func TestPoolSizeOneIsEnough(t *testing.T) {
	f := newFleet(t, 3, ledger.OverlapQueue)
	f.Close()
	f.open(t, f.url, postgres.PoolSize(1))
	f.record(t, f.admit(t, true))
	f.admit(t, false)
	got, err := f.Claim(t.Context(), ledger.ClaimRequest{Process: "p", Token: "t", Limit: 10, LeaseFor: time.Minute})
	if err != nil || len(got.Work) != 3 {
		t.Errorf("claimed %d, %v; want 3", len(got.Work), err)
	}
}

// What roles and databases set by default is not the ledger's; what it asks
// for, each session has from its start.
func TestEverySessionHasTheLedgersSettings(t *testing.T) {
	url := testdb.Postgres(t)
	execute(t, url, `
		DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = off', current_database());
			EXECUTE format('ALTER DATABASE %I SET client_encoding = LATIN1', current_database());
			EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', current_database());
			EXECUTE format('ALTER DATABASE %I SET search_path = nowhere', current_database());
		END $$`)
	want := map[string]string{
		"application_name":                    "replica-7",
		"transaction_isolation":               "repeatable read",
		"transaction_read_only":               "on",
		"client_encoding":                     "UTF8",
		"standard_conforming_strings":         "on",
		"search_path":                         "cronce",
		"idle_in_transaction_session_timeout": "10s",
	}
	checkSettings := postgres.Tune(func(c *pgxpool.Config) {
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			for name, value := range want {
				var got string
				if err := conn.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&got); err != nil {
					return err
				}
				if got != value {
					t.Errorf("%s is %q, want %q", name, got, value)
				}
			}
			return nil
		}
	})
	_, err := migrate.Up(t.Context(), url)
	must(t, err)
	open(t, url, checkSettings, postgres.ApplicationName("replica-7"))
}

// Behind a pooler too, whose sessions keep them.
func TestARunIsWrittenWhateverARoleAndAURLSet(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
			EXECUTE format('ALTER DATABASE %I SET client_encoding = LATIN1', current_database());
			EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', current_database());
		END $$`)
	odd := url.Values{"client_encoding": {"LATIN1"}, "standard_conforming_strings": {"off"}, "default_transaction_read_only": {"on"}}.Encode()
	for name, url := range map[string]string{"directly": and(f.url, odd), "through a pooler": testdb.PgBouncer(t, f.url)} {
		t.Run(name, func(t *testing.T) {
			f.open(t, url)
			w := f.admit(t, true)[0]
			o := succeeded(w)
			o.Attempt.Error = `a backslash \' and an umlaut ü`
			results, err := f.Record(t.Context(), []ledger.Outcome{o})
			if err != nil || results[0] != ledger.Recorded {
				t.Fatalf("recorded %v, %v", results, err)
			}
			if _, got, err := f.Get(t.Context(), w.RunID); err != nil || got[0].Error != o.Attempt.Error {
				t.Errorf("read %+v, %v", got, err)
			}
		})
	}
}

// and adds a parameter to a URL.
func and(url, parameter string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameter
	}
	return url + "?" + parameter
}

// Whoever watches a job's row, as a trigger does, sees a revision begin at its watermark.
func TestARevisionBeginsAtTheWatermarkOfItsJob(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		CREATE TABLE cronce.seen (at timestamptz);
		CREATE FUNCTION cronce.see() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO cronce.seen VALUES (NEW.watermark); RETURN NULL; END';
		CREATE TRIGGER see AFTER UPDATE ON cronce.jobs FOR EACH ROW WHEN (NEW.revision <> OLD.revision) EXECUTE FUNCTION cronce.see()`)
	p := f.plan(0, false)
	p.Next = &ledger.Definition{JobID: p.JobID, Hash: "h2", Body: []byte("{}")}
	admitOne(t, f, p)
	var at time.Time
	must(t, connect(t, f.url).QueryRow(t.Context(), `SELECT at FROM cronce.seen`).Scan(&at))
	if !at.Equal(p.Through) {
		t.Errorf("revision 2 began at %s, want %s", at, p.Through)
	}
}

func admitOne(t *testing.T, f *fleet, p ledger.Plan) {
	t.Helper()
	got, err := f.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{p}, Process: "p", Token: f.token(), LeaseFor: time.Minute})
	if err != nil || len(got.Stale) > 0 {
		t.Fatalf("stale %v: %v", got.Stale, err)
	}
}
