package sqlkeys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/idempotency/store"
)

// checks are statements without effect, for each of which the database wants
// the table, its columns and one privilege.
func (t Terms) checks() []Statement {
	const columns = `scope, principal, {{keycolumn}}, request_hash, state, response_status, response_headers, response_body,
       owner, locked_until, created_at, expires_at`
	return []Statement{
		t.Statement(`SELECT ` + columns + ` FROM {{table}} WHERE {{key}}`),
		t.Statement(`INSERT INTO {{table}} (` + columns + `) SELECT ` + columns + ` FROM {{table}} WHERE {{key}}`),
		t.Statement(`UPDATE {{table}} SET owner = owner WHERE {{key}}`),
		t.Statement(`DELETE FROM {{table}} WHERE {{key}}`),
	}
}

// Check implements [store.Checker].
func (s *Store) Check(ctx context.Context, _ time.Duration) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.unavailable("connect", err)
	}
	defer conn.Close()
	var problems []error
	for _, statement := range s.d.Statements().Checks {
		rows, err := statement.Query(ctx, conn, Of(store.Claim{}))
		if err == nil {
			rows.Next()
			err = errors.Join(rows.Err(), rows.Close())
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: the table of the keys cannot be used: %w; create it with CreateTable or the "+
				"migrations (set keys), and grant SELECT, INSERT, UPDATE and DELETE on it", s.d.Package(), err))
			break // the others would fail for the same reason
		}
	}
	if ctx.Err() != nil || conn.PingContext(ctx) != nil { // then the problems say nothing of the table
		return s.unavailable("check", errors.Join(problems...))
	}
	return errors.Join(append(problems, s.d.Check(ctx, conn)...)...)
}

// CreateTable creates the table, as the engines' packages document.
func (s *Store) CreateTable(ctx context.Context) error {
	statements, err := s.d.Create()
	for _, statement := range statements {
		if err == nil {
			_, err = s.db.ExecContext(ctx, statement)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: create the table of the keys: %w", s.d.Package(), err)
	}
	return nil
}
