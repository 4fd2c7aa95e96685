package postgres_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/internal/testdb"
)

// However the work sends a COMMIT, the key's row is committed with it, so that no other process
// has to wait for the work's return to learn of it.
func TestAKeyWhoseWorkHasCommittedIsUsedUpAtOnce(t *testing.T) {
	url := database(t)
	p := pool(t, url)
	first, second := kit(t, p), kit(t, pool(t, url))
	sends := map[string]func(context.Context, pgx.Tx) error{
		"Query": func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `COMMIT`)
			rows.Close()
			return errors.Join(err, rows.Err())
		},
		"QueryRow": func(ctx context.Context, tx pgx.Tx) error {
			if err := tx.QueryRow(ctx, `COMMIT`).Scan(); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil
		},
		"SendBatch": func(ctx context.Context, tx pgx.Tx) error {
			var b pgx.Batch
			b.Queue(`SELECT 1`)
			b.Queue(`COMMIT`)
			return tx.SendBatch(ctx, &b).Close()
		},
		"Prepare": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Prepare(ctx, "finish", `COMMIT`)
			if err == nil {
				_, err = tx.Exec(ctx, "finish")
			}
			return err
		},
		"a nested transaction": func(ctx context.Context, tx pgx.Tx) error {
			nested, err := tx.Begin(ctx)
			if err == nil {
				_, err = nested.Exec(ctx, `COMMIT`)
			}
			return err
		},
	}
	for _, sql := range []string{"COMMIT", " \t\n;Commit work", "SELECT ';'; end", "/* a /* b; */ c */ END", "-- ; \r\n-- x\nCOMMIT AND CHAIN; SELECT 1",
		"SELECT E'a'\n'b\\' ; x'; COMMIT"} {
		sends[sql] = func(ctx context.Context, tx pgx.Tx) error { _, err := tx.Exec(ctx, sql); return err }
	}
	for name, send := range sends {
		key := strconv.Itoa(len(name)) + name[:1]
		_, err := first.Do(t.Context(), scope, key, nil, func(ctx context.Context) error {
			if err := send(ctx, postgres.Tx(ctx)); err != nil {
				t.Errorf("%q: %v", name, err)
			}
			_, err := second.Do(t.Context(), scope, key, nil, func(context.Context) error {
				t.Errorf("%q: another process did the work again", name)
				return nil
			})
			return err
		})
		if !errors.Is(err, idempotency.ErrTxEnded) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A COMMIT of the work whose answer is lost has happened, or it has not.
func TestALostCommitOfTheWorkUsesTheKeyUpOnlyIfItHappened(t *testing.T) {
	for _, happened := range []bool{true, false} {
		for _, status := range []int{http.StatusCreated, http.StatusInternalServerError} {
			relay := testdb.NewRelay(t, database(t))
			p := pool(t, relay.URL)
			k := kit(t, p)
			work := func(w http.ResponseWriter, r *http.Request) {
				tx := postgres.Tx(r.Context())
				_, err := tx.Exec(r.Context(), `INSERT INTO effects VALUES ('paid')`)
				fatal(t, err)
				sql := `COMMIT`
				if !happened {
					sql = `SELECT pg_sleep(600); COMMIT`
					time.AfterFunc(100*time.Millisecond, func() { _ = tx.Conn().PgConn().Conn().Close() })
				}
				relay.LoseAnswer(`COMMIT`)
				if _, err := tx.Exec(r.Context(), sql); err == nil {
					t.Error("the COMMIT was answered")
				}
				w.WriteHeader(status)
			}
			w := serve(k, "k", work)
			if w.Code < 500 {
				t.Errorf("%t, %d: answered %d %s", happened, status, w.Code, w.Body)
			}
			relay.LoseAnswer(`nothing`)
			want, code := 1, http.StatusCreated
			if happened {
				code = http.StatusInternalServerError
			}
			if w := serve(k, "k", pay); w.Code != code || effects(t, p) != want {
				t.Errorf("%t, %d: then answered %d %s, %d effects", happened, status, w.Code, w.Body, effects(t, p))
			}
		}
	}
}

// SQL that would lose the key's row before it commits is not sent.
func TestWorkCannotUndoTheKeysRowAndCommitInOneMessage(t *testing.T) {
	const pays = `INSERT INTO effects VALUES ('paid')`
	p := pool(t, database(t))
	for n, test := range []struct {
		fails   bool // before
		sql     []string
		refused bool
	}{
		{false, []string{`ROLLBACK TO SAVEPOINT a; COMMIT`}, true},
		{true, []string{`ROLLBACK TO SAVEPOINT a; COMMIT`}, true},
		{false, []string{`ROLLBACK; ` + pays}, true},
		{false, []string{`/* ; */ abort; (SELECT 1)`}, true},
		{false, []string{`ROLLBACK AND CHAIN`, pays, `COMMIT`}, true},
		{true, []string{`COMMIT`, pays}, true},
		{true, []string{`rollback work to a; ` + pays + `; -- `}, false},
		{false, []string{pays + `; SELECT '; rollback; x', $$; COMMIT; $$ /* ; rollback; */`}, false},
		{false, []string{`SELECT E'a'` + "\n" + `'b\' '; ROLLBACK; ` + pays}, true},
	} {
		must(t, p, `TRUNCATE effects`)
		w := serve(kit(t, p), strconv.Itoa(n), func(w http.ResponseWriter, r *http.Request) {
			ctx, tx := r.Context(), postgres.Tx(r.Context())
			_, err := tx.Exec(ctx, `SAVEPOINT a`)
			fatal(t, err)
			if test.fails {
				_, _ = tx.Exec(ctx, `SELECT 1/0`)
			}
			if len(test.sql) == 1 {
				_, err = tx.Exec(ctx, test.sql[0])
			} else {
				var b pgx.Batch
				for _, sql := range test.sql {
					b.Queue(sql)
				}
				err = tx.SendBatch(ctx, &b).Close()
			}
			if test.refused != errors.Is(err, store.ErrTxManaged) || !test.refused && err != nil {
				t.Errorf("%q: %v", test.sql, err)
			}
			if _, err = tx.Exec(ctx, `ROLLBACK TO SAVEPOINT a`); test.refused {
				fatal(t, err)
				_, err = tx.Exec(ctx, pays)
			}
			fatal(t, err)
			w.WriteHeader(http.StatusCreated)
		})
		want := 1
		if !test.refused {
			want = 0
		}
		if w.Code != http.StatusCreated || effects(t, p) != want {
			t.Errorf("%q: %d %s, %d effects", test.sql, w.Code, w.Body, effects(t, p))
		}
	}
}

// The key's row is placed for nothing when a PREPARE is of a statement, and makes room for the
// reply, also if it was rolled back.
func TestWorkThatOnlyMentionsACommitIsStored(t *testing.T) {
	p := pool(t, database(t))
	must(t, p, `ALTER TABLE effects ADD note text`)
	for n, want := range []string{"", "true"} {
		w := serve(kit(t, p), "k", func(w http.ResponseWriter, r *http.Request) {
			nested, err := postgres.Tx(r.Context()).Begin(r.Context())
			fatal(t, err)
			_, err = nested.Exec(r.Context(), `PREPARE p AS SELECT 1`) // has the row placed, which is rolled back
			fatal(t, errors.Join(err, nested.Rollback(r.Context())))
			_, err = postgres.Tx(r.Context()).Exec(r.Context(), `INSERT INTO effects VALUES ('paid', '; commit')`)
			fatal(t, err)
			w.WriteHeader(http.StatusCreated)
		})
		if w.Code != http.StatusCreated || w.Header().Get("Idempotent-Replayed") != want || effects(t, p) != 1 {
			t.Errorf("call %d: %d %s, %d effects", n, w.Code, w.Body, effects(t, p))
		}
	}
}
