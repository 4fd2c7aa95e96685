package migrations

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pressly/goose/v3/database"
)

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
	store, err := database.NewStore(database.DialectMySQL, t.versions())
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
