package migrations

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/pressly/goose/v3/database"
)

// versionStore is goose's table of versions, except that its times are in UTC:
// goose's default is the server's local time, without its zone.
type versionStore struct{ database.Store }

func (t Target) store() (versionStore, error) {
	store, err := database.NewStore(t.dialect(), t.versions())
	return versionStore{store}, err
}

var inUTC = strings.NewReplacer(
	"DEFAULT now()", "DEFAULT (now() AT TIME ZONE 'UTC')", // PostgreSQL
	"default CURRENT_TIMESTAMP", "default (UTC_TIMESTAMP())", // MySQL and MariaDB
)

// createSQL is the statement by which goose creates the table, with its times in
// UTC.
func (s versionStore) createSQL(ctx context.Context) (string, error) {
	var goose recorder
	err := s.Store.CreateVersionTable(ctx, &goose)
	return inUTC.Replace(goose.query), err
}

func (s versionStore) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	query, err := s.createSQL(ctx)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, query)
	return err
}

// TableExists lets goose look without an error of the database.
func (s versionStore) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	if e, ok := s.Store.(database.StoreExtender); ok {
		return e.TableExists(ctx, db)
	}
	return false, errors.ErrUnsupported
}

// querier is a pool or one connection of it.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// createVersions makes the table of versions on MySQL, where creating a table
// commits at once. Goose makes it without the lock and then puts its first row
// in: a process that looked between the two failed, and one that died between
// them left a table that goose refuses.
func (t Target) createVersions(ctx context.Context, db *sql.DB) (err error) {
	if t.Engine != MySQL {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	l := t.locker(db)
	if err := l.SessionLock(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	return t.begin(ctx, conn)
}

// begin leaves a table with a first row, whichever of the two is missing.
func (t Target) begin(ctx context.Context, conn *sql.Conn) error {
	store, err := t.store()
	if err != nil {
		return err
	}
	there, err := t.begun(ctx, conn)
	if err != nil {
		return err
	}
	if !there {
		if err := store.CreateVersionTable(ctx, conn); err != nil {
			return err
		}
	}
	_, err = store.GetLatestVersion(ctx, conn)
	if errors.Is(err, database.ErrVersionNotFound) {
		return store.Insert(ctx, conn, database.InsertRequest{Version: 0})
	}
	return err
}
