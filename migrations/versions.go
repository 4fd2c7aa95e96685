package migrations

import (
	"context"
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

var inUTC = strings.NewReplacer("DEFAULT now()", "DEFAULT (now() AT TIME ZONE 'UTC')") // SQLite's is

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
