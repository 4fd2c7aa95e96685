package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger/sqlite"
	"github.com/cronce/cronce/migrations"
)

// turn is the beginning or the end of a job's revision: the definition that becomes
// current, and the scheduled time at which it does.
type turn struct {
	jobID    string
	revision int64
	hash     string
	ended    bool // the job has no current revision afterwards
	at       time.Time
}

// The ledger's database notes every turn itself, in the transaction that makes
// it, so that a crash keeps both or neither. It takes the job's watermark, which
// is the exact end of the old revision and beginning of the new one, and the
// definition, which the ledger's events do not name. The turns of one job are in
// the order of n: its row is locked while it turns.
const (
	witnessPostgres = `
CREATE TABLE public.chaos_turns (
	n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job_id text NOT NULL,
	revision bigint NOT NULL, hash text NOT NULL, ended boolean NOT NULL, at bigint);
CREATE FUNCTION public.chaos_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.chaos_turns (job_id, revision, hash, ended, at)
	VALUES (NEW.job_id, NEW.revision, NEW.hash, NEW.ended_at IS NOT NULL, extract(epoch FROM NEW.watermark) * 1000000);
	RETURN NULL;
END $$;
CREATE TRIGGER chaos_turn AFTER INSERT OR UPDATE OF revision, hash, ended_at ON cronce.jobs
	FOR EACH ROW EXECUTE FUNCTION public.chaos_turn()`

	witnessSQLite = `
CREATE TABLE chaos_turns (
	n INTEGER PRIMARY KEY, job_id TEXT NOT NULL,
	revision INTEGER NOT NULL, hash TEXT NOT NULL, ended INTEGER NOT NULL, at INTEGER);
CREATE TRIGGER chaos_begun AFTER INSERT ON jobs BEGIN ` + noteSQLite + ` END;
CREATE TRIGGER chaos_turned AFTER UPDATE OF revision, hash, ended_at ON jobs BEGIN ` + noteSQLite + ` END`

	noteSQLite = `INSERT INTO chaos_turns (job_id, revision, hash, ended, at)
		VALUES (NEW.job_id, NEW.revision, NEW.hash, NEW.ended_at IS NOT NULL, NEW.watermark);`
)

// witness makes the ledger's tables and has the database note its turns.
func (f *fleet) witness(ctx context.Context) error {
	statements := witnessPostgres + ";" + stormPostgres
	if f.Embedded {
		statements = witnessSQLite + ";" + stormSQLite
		l, err := sqlite.Open(ctx, f.ledgerFile(), sqlite.Options{})
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return f.database(func(db *sql.DB) error {
		if !f.Embedded {
			if err := migrateLedger(ctx, db); err != nil {
				return err
			}
		}
		_, err := db.ExecContext(ctx, statements)
		return err
	})
}

func migrateLedger(ctx context.Context, db *sql.DB) error {
	_, err := migrations.Up(ctx, db, migrations.Target{Engine: migrations.Postgres})
	return err
}

// turns are all turns of all jobs, each job's in their order. A revision 0 is
// not a revision: an event came for a job that the ledger did not know yet.
func (f *fleet) turns(ctx context.Context) (list []turn, err error) {
	err = f.database(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, `SELECT job_id, revision, hash, ended, at FROM chaos_turns WHERE revision > 0 ORDER BY job_id, n`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var t turn
			var micros int64
			if err := rows.Scan(&t.jobID, &t.revision, &t.hash, &t.ended, &micros); err != nil {
				return err
			}
			t.at = time.UnixMicro(micros).UTC()
			list = append(list, t)
		}
		return rows.Err()
	})
	return list, err
}

// database opens the ledger's database directly, without the ledger and without the
// faulty network.
func (f *fleet) database(do func(*sql.DB) error) error {
	driver, source := "pgx", f.Database
	if f.Embedded {
		driver, source = "sqlite", f.ledgerFile()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := do(db); err != nil {
		return fmt.Errorf("the witness in the ledger's database: %w", err)
	}
	return nil
}
