package mysql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

// fiveHundred rows are more than the driver reads ahead.
var fiveHundred = `INSERT INTO effects VALUES ('before')` + strings.Repeat(`, ('before')`, 499)

// A connection on which rows are open takes no other statement, so that the
// reply cannot be stored: the work is undone, the error says what to do, and
// neither its key nor its connection is kept.
func TestWorkThatLeavesRowsOpenIsUndone(t *testing.T) {
	query := func(ctx context.Context, q *sql.Tx) error {
		rows, err := q.QueryContext(ctx, `SELECT name FROM effects`) //nolint:sqlclosecheck,rowserrcheck // the case
		if err == nil && !rows.Next() {
			err = errors.New("no row")
		}
		return err
	}
	for name, left := range map[string]func(context.Context, *sql.Tx) error{
		"rows":                             query,
		"rows of a context without an end": func(_ context.Context, q *sql.Tx) error { return query(context.Background(), q) },
		"rows of a prepared statement": func(ctx context.Context, q *sql.Tx) error {
			statement, err := q.PrepareContext(ctx, `SELECT name FROM effects WHERE name <> ?`) //nolint:sqlclosecheck // the case
			if err == nil {
				_, err = statement.QueryContext(context.Background(), "x") //nolint:sqlclosecheck,rowserrcheck // the case
			}
			return err
		},
		"a row of a prepared statement that was not scanned": func(ctx context.Context, q *sql.Tx) error {
			statement, err := q.PrepareContext(ctx, `SELECT name FROM effects WHERE name <> ?`) //nolint:sqlclosecheck // the case
			if err == nil {
				err = statement.QueryRowContext(context.Background(), "x").Err()
			}
			return err
		},
		"rows, beside a prepared statement": func(ctx context.Context, q *sql.Tx) error {
			_, err := q.PrepareContext(ctx, `SELECT name FROM effects WHERE name <> ?`) //nolint:sqlclosecheck // the case
			return errors.Join(err, query(ctx, q))
		},
		"a row that was not scanned": func(_ context.Context, q *sql.Tx) error {
			return q.QueryRowContext(context.Background(), `SELECT name FROM effects`).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
				db := open(t, fresh(t)+advised)
				migrate(t, db)
				must(t, db, fiveHundred)
				db.SetMaxOpenConns(1)
				k := kitOn(t, mysql.New(db, mysql.Options{}))
				for range 2 {
					if _, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
						return errors.Join(effect(ctx, mysql.Tx(ctx)), left(ctx, mysql.Tx(ctx)))
					}); !errors.Is(err, idempotency.ErrUnavailable) || !strings.Contains(err.Error(), "close the rows") {
						t.Errorf("work that leaves %s: %v", name, err)
					}
				}
				if n := effects(t, db); n != 500 {
					t.Errorf("%d effects, want none", n-500)
				}
				if _, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error { return effect(ctx, mysql.Tx(ctx)) }); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A statement that the work prepares takes and gives what one of the driver's
// own does, has all of its statements in the kit's transaction, and ends with it.
func TestStatementsThatTheWorkPrepares(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		db := open(t, fresh(t)+advised)
		migrate(t, db)
		db.SetMaxOpenConns(1)
		must(t, db, `CREATE TABLE typed (id BIGINT UNSIGNED PRIMARY KEY, price DECIMAL(8,2), note VARCHAR(9) NOT NULL)`)
		var leaked *sql.Stmt
		var over *sql.Tx
		pay := func(fails error) func(context.Context) error {
			return func(ctx context.Context) error {
				insert, err := mysql.Tx(ctx).PrepareContext(ctx, `INSERT INTO typed VALUES (?, ?, ?)`) //nolint:sqlclosecheck // ends with the work
				if err != nil {
					return err
				}
				leaked, over = insert, mysql.Tx(ctx)
				result, err := insert.ExecContext(ctx, uint64(1)<<63, "12.50", json.RawMessage(`"a"`))
				if err != nil {
					return err
				}
				if n, err := result.RowsAffected(); n != 1 || err != nil {
					t.Errorf("%d rows were written, %v", n, err)
				}
				read, err := mysql.Tx(ctx).PrepareContext(ctx, `SELECT id, price, note FROM typed WHERE id = ?`)
				if err != nil {
					return err
				}
				rows, err := read.QueryContext(ctx, uint64(1)<<63)
				if err != nil {
					return err
				}
				sees(t, rows)
				return errors.Join(rows.Close(), read.Close(), fails)
			}
		}
		k, no := kitOn(t, mysql.New(db, mysql.Options{})), errors.New("no")
		for _, fails := range []error{no, nil} {
			if again, err := k.Do(t.Context(), "s", "k", nil, pay(fails)); again || !errors.Is(err, fails) {
				t.Errorf("duplicate %t, %v, want %v", again, err, fails)
			}
			if _, err := leaked.ExecContext(t.Context(), 2, "1", ""); err == nil {
				t.Error("the statement can be used after the work")
			}
			if _, err := over.PrepareContext(t.Context(), `SELECT 1`); !errors.Is(err, sql.ErrTxDone) { //nolint:sqlclosecheck // there is none
				t.Errorf("a statement is prepared after the work: %v", err)
			}
		}
		var n int
		if err := db.QueryRow(`SELECT COUNT(*) FROM typed`).Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

func sees(t *testing.T, rows *sql.Rows) {
	t.Helper()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Error(err)
		return
	}
	precision, scale, _ := types[1].DecimalSize()
	nullable, known := types[2].Nullable()
	if types[0].DatabaseTypeName() != "UNSIGNED BIGINT" || types[0].ScanType() != reflect.TypeFor[uint64]() ||
		precision != 8 || scale != 2 || nullable || !known {
		t.Errorf("its columns are of %+v", types)
	}
	var id uint64
	var price, note string
	if !rows.Next() || rows.Scan(&id, &price, &note) != nil || id != 1<<63 || price != "12.50" || note != `"a"` || rows.Next() || rows.NextResultSet() {
		t.Errorf("its row is %d, %s, %s, %v", id, price, note, rows.Err())
	}
}
