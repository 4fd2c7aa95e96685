package postgres_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

// Work whose key is not stored would be done by every call.
func TestATableThatStoresNoRowRollsTheWorkBack(t *testing.T) {
	for name, sql := range map[string][]string{
		"a trigger": {`CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`,
			`CREATE TRIGGER nothing BEFORE INSERT ON accounting.idempotency_keys FOR EACH ROW EXECUTE FUNCTION nothing()`},
		"a rule": {`CREATE RULE nothing AS ON INSERT TO accounting.idempotency_keys DO INSTEAD NOTHING`},
		// A column of the user's own is not the end of a transaction.
		"a column that must not be null": {`ALTER TABLE accounting.idempotency_keys ADD tenant text NOT NULL`},
	} {
		t.Run(name, func(t *testing.T) {
			p := pool(t, database(t))
			for _, statement := range sql {
				must(t, p, statement)
			}
			for range 3 {
				w := serve(kit(t, p), "k", pay)
				if w.Code != 500 || !strings.Contains(w.Body.String(), "transaction_aborted") {
					t.Errorf("answered %d %s", w.Code, w.Body)
				}
			}
			if n := effects(t, p); n != 0 {
				t.Errorf("%d effects", n)
			}
		})
	}
}

func TestHandlersMayTakeAnotherRole(t *testing.T) {
	p := pool(t, database(t))
	role := "tenant_of_" + strings.ReplaceAll(p.Config().ConnConfig.Database, "-", "_")
	must(t, p, `CREATE ROLE `+role)
	t.Cleanup(func() { must(t, p, `DROP OWNED BY `+role); must(t, p, `DROP ROLE `+role) })
	must(t, p, `GRANT INSERT ON effects TO `+role)
	as := func(ctx context.Context) error {
		tx := postgres.Tx(ctx)
		if _, err := tx.Exec(ctx, `SELECT set_config('role', $1, true)`, role); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DO $$ BEGIN PERFORM 1; END $$`); err != nil { // END may be a COMMIT
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO effects SELECT 'tenant' WHERE current_user = $1`, role)
		return err
	}
	do := func(ctx context.Context, o postgres.Options, key string) (bool, error) {
		store := postgres.New(p, o)
		k, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
		if err != nil {
			t.Fatal(err)
		}
		if tx, joins := ctx.Value(joinedKey{}).(pgx.Tx); joins {
			ctx = store.WithTx(ctx, tx)
		}
		return k.Do(ctx, "s", key, nil, as)
	}
	if _, err := do(t.Context(), options, "k"); !errors.Is(err, idempotency.ErrTxAborted) || !strings.Contains(err.Error(), "Options.Role") {
		t.Errorf("without the option: %v", err)
	}
	keys := options
	if err := p.QueryRow(t.Context(), `SELECT session_user`).Scan(&keys.Role); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if duplicate, err := do(t.Context(), keys, "k"); err != nil || duplicate != (n == 1) {
			t.Error(duplicate, err)
		}
	}
	err := pgx.BeginFunc(t.Context(), p, func(tx pgx.Tx) error {
		if _, err := do(context.WithValue(t.Context(), joinedKey{}, tx), keys, "joined"); err != nil {
			return err
		}
		var got string
		err := tx.QueryRow(t.Context(), `SELECT current_setting('role') || current_setting('statement_timeout')`).Scan(&got)
		if got != "none0" {
			t.Errorf("the caller's transaction goes on with %s", got)
		}
		return err
	})
	if n := effects(t, p); err != nil || n != 2 {
		t.Errorf("%d effects, %v", n, err)
	}
}

type joinedKey struct{}

// A crash of the server must not forget that a vendor was called.
func TestAReservationIsOnDiskWhateverTheSessionSays(t *testing.T) {
	for set, want := range map[string]string{"off": "local", "on": "on", "remote_apply": "remote_apply"} {
		p := pool(t, database(t), func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["synchronous_commit"] = set })
		must(t, p, `CREATE TABLE seen (value text)`)
		must(t, p, `CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`)
		must(t, p, `CREATE CONSTRAINT TRIGGER see AFTER INSERT ON accounting.idempotency_keys DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION see()`) // at the commit
		_, _, err := idempotency.Call(t.Context(), kit(t, p), idempotency.Operation{Scope: "s", Key: "k"},
			idempotency.Effect[int]{Do: func(context.Context) (int, error) { return 1, nil }})
		if n := count(t, p, `SELECT count(*) FROM seen WHERE value = $1`, want); err != nil || n != 1 {
			t.Errorf("%s: not reserved with %s, %v", set, want, err)
		}
	}
}

// A tenant a schema: what is prepared on a connection stays within pgx's limit.
func TestManyTablesDoNotFillAConnectionWithStatements(t *testing.T) {
	const most, tenants = 16, 12
	url := database(t)
	p := pool(t, url, func(c *pgxpool.Config) { c.MaxConns, c.ConnConfig.StatementCacheCapacity = 1, most })
	for n := range tenants {
		schema := "tenant" + string(rune('a'+n))
		must(t, p, `CREATE SCHEMA `+schema)
		must(t, p, `CREATE TABLE `+schema+`.idempotency_keys (LIKE accounting.idempotency_keys INCLUDING ALL)`)
		k, err := idempotency.New(postgres.New(p, postgres.Options{Schema: schema}), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			if w := serve(k, "k", pay); w.Code != http.StatusCreated || (w.Header().Get("Idempotent-Replayed") != "") != (n == 1) {
				t.Errorf("%s: %d %s", schema, w.Code, w.Body)
			}
		}
	}
	if n := count(t, p, `SELECT count(*) FROM pg_prepared_statements`); n > most+8 { // those that the next exchange drops
		t.Errorf("%d statements are prepared", n)
	}
}
