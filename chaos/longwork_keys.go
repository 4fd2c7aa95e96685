package chaos

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver of MariaDB
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// longWorkEffects has no constraint that would hide work done twice.
const longWorkEffects = `CREATE TABLE effects (run_id varchar(200) NOT NULL)`

// keyed is a kit on an engine.
type keyed struct {
	kit    *idempotency.Kit
	create func(context.Context) error
	effect func(ctx context.Context, runID string) error // in the transaction that ctx carries
	close  func()
}

// workLease is how long a dead worker keeps its key.
const workLease = time.Second

var longWorkOptions = idempotency.Options{
	Principal: idempotency.SinglePrincipal("cronce"), Lease: workLease, MaxRun: time.Second, StoreTimeout: time.Second,
	Wait: 300 * time.Millisecond,
}

// openKeys opens the kit of an engine. The database need not answer yet.
func openKeys(ctx context.Context, engine, address string) (k keyed, err error) {
	switch engine {
	case EnginePostgres:
		pool, err := pgxpool.New(ctx, address)
		if err != nil {
			return k, err
		}
		store := postgres.New(pool, postgres.Options{})
		k = keyed{create: store.CreateTable, close: pool.Close, effect: func(ctx context.Context, id string) error {
			_, err := postgres.Tx(ctx).Exec(ctx, `INSERT INTO effects VALUES ($1)`, id)
			return err
		}}
		k.kit, err = idempotency.New(store, longWorkOptions)
		return k, err
	case EngineMariaDB:
		db, err := openEffects(engine, address)
		if err != nil {
			return k, err
		}
		store := mysql.New(db, mysql.Options{})
		k = keyed{create: store.CreateTable, close: func() { db.Close() }, effect: insertBy(mysql.Tx)}
		k.kit, err = idempotency.New(store, longWorkOptions)
		return k, err
	default:
		db, err := openEffects(engine, address)
		if err != nil {
			return k, err
		}
		store := sqlite.New(db, sqlite.Options{})
		k = keyed{create: store.CreateTable, close: func() { db.Close() }, effect: insertBy(sqlite.Tx)}
		k.kit, err = idempotency.New(store, longWorkOptions)
		return k, err
	}
}

func insertBy(tx func(context.Context) *sql.Tx) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		_, err := tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES (?)`, id)
		return err
	}
}

// openEffects opens the database of an engine.
func openEffects(engine, address string) (*sql.DB, error) {
	switch engine {
	case EnginePostgres:
		return sql.Open("pgx", address)
	case EngineMariaDB:
		return sql.Open("mysql", address)
	}
	return sqlite.Open(address)
}

// createKeys creates the tables of keys and effects.
func (l *LongWork) createKeys(ctx context.Context) error {
	if l.Engine == EngineScript {
		return nil
	}
	k, err := openKeys(ctx, l.Engine, l.Keys)
	if err != nil {
		return err
	}
	defer k.close()
	if err := k.create(ctx); err != nil {
		return err
	}
	db, err := openEffects(l.Engine, l.Keys)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, longWorkEffects)
	return err
}

// effects counts the effects of each run.
func (l *LongWork) effects(ctx context.Context) (map[string]int, error) {
	if l.Engine == EngineScript {
		return linesOf(filepath.Join(l.Dir, "effects"))
	}
	db, err := openEffects(l.Engine, l.Keys)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT run_id, count(*) FROM effects GROUP BY run_id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]int{}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		found[id] = n
	}
	return found, rows.Err()
}

// linesOf counts the equal lines of a file.
func linesOf(path string) (map[string]int, error) {
	found := map[string]int{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the effects: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		found[lines.Text()]++
	}
	return found, lines.Err()
}
