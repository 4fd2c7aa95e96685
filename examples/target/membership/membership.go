// Package membership is an example of a target: a service whose admin
// endpoints change state, each applied once for each idempotency key, however
// often it is called.
//
// The idempotency kit does that. The handlers only write through the kit's
// transaction, so that a handler's work, its key and its reply are committed
// together or not at all.
package membership

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// Service keeps members' commissions in one SQLite file. A commission is held
// until its lock expires; releasing it pays it out.
type Service struct {
	db    *sql.DB
	kit   *idempotency.Kit
	token string
}

// The tables deliberately have no constraint that would hide a handler that
// ran twice: a doubled payout would be a second row.
const tables = `
CREATE TABLE IF NOT EXISTS locks (member TEXT NOT NULL, cents INTEGER NOT NULL, released_by TEXT);
CREATE TABLE IF NOT EXISTS payouts (run_id TEXT NOT NULL, commissions INTEGER NOT NULL, cents INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS closings (run_id TEXT NOT NULL, cents INTEGER NOT NULL);`

// Open opens the service's file, creating it with some commissions to release.
// token is what callers have to present.
func Open(ctx context.Context, path, token string, log *slog.Logger) (*Service, error) {
	if token == "" {
		return nil, errors.New("the service needs a token for its callers to present")
	}
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Service{db: db, token: token}
	if err := s.prepare(ctx, log); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *Service) prepare(ctx context.Context, log *slog.Logger) error {
	if err := sqlite.New(s.db, sqlite.Options{}).CreateTable(ctx); err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, tables); err != nil {
		return err
	}
	var err error
	s.kit, err = idempotency.New(sqlite.New(s.db, sqlite.Options{}), idempotency.Options{Principal: s.principal, Logger: log})
	return err
}

// Close closes the file.
func (s *Service) Close() error { return s.db.Close() }

// principal is who calls, proved by the token. Keys belong to a principal, so
// it is an identity and never the token itself, which changes.
func (s *Service) principal(r *http.Request) (string, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		return "", errors.New("the bearer token is missing or wrong")
	}
	return "scheduler", nil
}

// Handler serves the admin endpoints.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/admin/commission-locks/release-expired", s.once(s.releaseExpired))
	mux.Handle("POST /v1/admin/books/close-day", s.once(s.closeDay))
	return mux
}

func (s *Service) once(h func(*http.Request) (any, error)) http.Handler {
	return s.kit.Handler(idempotency.Route{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, err := h(r)
		if err != nil {
			// Nothing is kept of a 5xx: the work is rolled back and the key
			// stays free for the next attempt.
			http.Error(w, "try again", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // held back by the kit until the commit
	}))
}

// releaseExpired pays out the commissions whose hold has expired, and adds a
// new one so that the next call has something to do.
func (s *Service) releaseExpired(r *http.Request) (any, error) {
	ctx, tx, run := r.Context(), sqlite.Tx(r.Context()), r.Header.Get(idempotency.HeaderKey)
	if _, err := tx.ExecContext(ctx, `INSERT INTO locks (member, cents) VALUES ('m-' || (1 + abs(random() % 900)), 1 + abs(random() % 5000))`); err != nil {
		return nil, err
	}
	var commissions, cents int
	if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(cents), 0) FROM locks WHERE released_by IS NULL`).Scan(&commissions,
		&cents); err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE locks SET released_by = ? WHERE released_by IS NULL`, run); err != nil {
		return nil, err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO payouts VALUES (?, ?, ?)`, run, commissions, cents)
	return map[string]int{"commissions": commissions, "cents": cents}, err
}

// closeDay writes down what has been paid out so far.
func (s *Service) closeDay(r *http.Request) (any, error) {
	ctx, tx := r.Context(), sqlite.Tx(r.Context())
	var cents int
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(cents), 0) FROM payouts`).Scan(&cents); err != nil {
		return nil, err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO closings VALUES (?, ?)`, r.Header.Get(idempotency.HeaderKey), cents)
	return map[string]int{"cents": cents}, err
}

// Effects counts, for each run ID, how often its work was applied.
func (s *Service) Effects(ctx context.Context) (map[string]int, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT run_id, count(*) FROM (SELECT run_id FROM payouts UNION ALL SELECT run_id FROM closings) GROUP BY run_id`)
	if err != nil {
		return nil, fmt.Errorf("count the effects: %w", err)
	}
	defer rows.Close()
	effects := map[string]int{}
	for rows.Next() {
		var run string
		var n int
		if err := rows.Scan(&run, &n); err != nil {
			return nil, err
		}
		effects[run] = n
	}
	return effects, rows.Err()
}
