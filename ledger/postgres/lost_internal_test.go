package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// The session ends between the flushes of a transaction, or while it waits.
func TestATerminatedSessionIsUnavailableAndReplaced(t *testing.T) {
	url := numbers(t)
	r := rowsAt(t, url)
	err := r.write(t.Context(), func(x *tx) error {
		if err := increment(1)(x); err != nil {
			return err
		}
		run(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'cronce'`)
		return nil
	})
	if !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, ledger.ErrUnavailable)
	}
	must(t, r.write(t.Context(), increment(2)))
	expectNumber(t, url, "0 1")
}

// Whether a commit whose answer was lost was applied is not known: it does not run again.
func TestALostAnswerToACommitIsUnavailable(t *testing.T) {
	url := numbers(t)
	relay := testdb.NewRelay(t, url)
	r := rowsAt(t, relay.URL)
	relay.LoseAnswer("COMMIT")
	if err := r.write(t.Context(), increment(1)); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, ledger.ErrUnavailable)
	}
	expectNumber(t, url, "1 0")
	must(t, r.write(t.Context(), increment(2)))
	expectNumber(t, url, "1 1")
}

func TestACanceledTransactionIsUnavailable(t *testing.T) {
	url := numbers(t)
	r := rowsAt(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	err := r.write(ctx, func(t *tx) error {
		defer cancel()
		return increment(1)(t)
	})
	if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want both unavailable and canceled", err)
	}
	must(t, r.write(t.Context(), increment(2)))
	expectNumber(t, url, "0 1")
}

// A table that is changed, or an administrator who discards them, makes the prepared
// statements of a session invalid. They are prepared again.
func TestInvalidStatementsArePreparedAgain(t *testing.T) {
	url := numbers(t)
	r := rowsAt(t, url)
	all := func(x *tx) error {
		x.p.add(query{sql: `SELECT * FROM t ORDER BY id FOR UPDATE`})
		return increment(1)(x)
	}
	must(t, r.write(t.Context(), all))
	run(t, url, `ALTER TABLE odd.t ADD COLUMN more text`)
	must(t, r.write(t.Context(), all))
	must(t, r.write(t.Context(), func(x *tx) error {
		x.p.add(query{sql: `DEALLOCATE ALL`})
		return nil
	}))
	must(t, r.write(t.Context(), all))
	expectNumber(t, url, "3 0")
}

// A session has no more names than it may have, whatever it is asked.
func TestASessionPreparesABoundedNumberOfStatements(t *testing.T) {
	url := numbers(t)
	r := rowsAt(t, url)
	for _, varies := range []bool{true, false} { // a session that is full prepares nothing that varies
		most := int64(maxPrepared)
		if varies {
			most = maxVarying
		}
		var prepared []int64
		for i := range 2 * most {
			must(t, r.write(t.Context(), func(x *tx) (err error) {
				x.p.add(query{sql: fmt.Sprintf(`SELECT %d, %t`, i, varies), varies: varies})
				prepared, err = sqltx.List(x.Tx, sqltx.Number, `SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT %, ' || $1`, fmt.Sprint(varies)).Get()
				return err
			}))
		}
		if prepared[0] < most/2 || prepared[0] > most {
			t.Errorf("%d statements whose text varies (%t) are prepared, want some and at most %d", prepared[0], varies, most)
		}
	}
}

// No name of a prepared statement is left in a session that a pooler shares.
func TestNothingIsPreparedBehindAPooler(t *testing.T) {
	url := numbers(t)
	r := rowsAt(t, testdb.PgBouncer(t, url))
	must(t, r.write(t.Context(), increment(1)))
	var names []string
	must(t, r.write(t.Context(), func(x *tx) (err error) {
		names, err = sqltx.List(x.Tx, sqltx.Text, `SELECT name FROM pg_prepared_statements`).Get()
		return err
	}))
	if slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, "cronce") }) {
		t.Errorf("prepared %v, want none of the ledger's", names)
	}
	expectNumber(t, url, "1 0")
}

// A server, or a pooler before it, that does not answer does not block a caller forever.
func TestATransactionWithoutAnAnswerIsGivenUp(t *testing.T) {
	url := numbers(t)
	r := rowsAt(t, url)
	must(t, r.write(t.Context(), increment(1)))
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `BEGIN; UPDATE odd.t SET n = 5`)
	must(t, err)
	r.pool.limits = map[string]time.Duration{beginWrite: 50 * time.Millisecond}
	if err := r.write(t.Context(), increment(1)); !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("error %v, want that there was no answer in time, which is unavailable", err)
	}
	_, err = conn.Exec(t.Context(), `COMMIT`)
	must(t, err)
	r.pool.limits = limits()
	must(t, r.write(t.Context(), increment(1)))
	expectNumber(t, url, "6 5")
}
