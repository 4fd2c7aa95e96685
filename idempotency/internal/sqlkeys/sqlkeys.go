// Package sqlkeys is what the key stores on database/sql have in common: how a
// row is read and written. Their tables have the same columns, with times in
// milliseconds since 1970.
package sqlkeys

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// Row is *sql.Row.
type Row interface{ Scan(...any) error }

// Look reads state, request_hash, owner, response_status, response_headers,
// response_body, expires_at, and whether the record is expired, whether its
// lease has lapsed, and whether the send-before time has come. A NULL state
// means that there is no row.
func Look(row Row) (look idempotency.Look, expired bool, err error) {
	var s stored
	var lapsed, late bool
	if err := row.Scan(append(s.columns(), &expired, &lapsed, &late)...); err != nil {
		return look, expired, err
	}
	look, err = s.look(expired)
	look.Lapsed, look.Late = lapsed, late
	return look, expired, err
}

// LookByClock is Look for a row that has, after expires_at, locked_until and
// the database's clock. Both times have come from their instants on.
func LookByClock(row Row) (look idempotency.Look, expired bool, err error) {
	var s stored
	var locked sql.NullInt64
	var clock int64
	if err := row.Scan(append(s.columns(), &locked, &clock)...); err != nil {
		return look, false, err
	}
	expired = s.expires.Valid && s.expires.Int64 <= clock
	look, err = s.look(expired)
	look.Lapsed = locked.Valid && locked.Int64 <= clock
	return look, expired, err
}

// stored is a row of the table as it is read.
type stored struct {
	state, hash, owner sql.NullString
	status, expires    sql.NullInt64
	header, body       []byte
}

func (s *stored) columns() []any {
	return []any{&s.state, &s.hash, &s.owner, &s.status, &s.header, &s.body, &s.expires}
}

func (s *stored) look(expired bool) (look idempotency.Look, err error) {
	if !s.state.Valid || expired {
		return look, nil
	}
	r := idempotency.Record{State: idempotency.State(s.state.String), Fingerprint: s.hash.String, Owner: s.owner.String}
	r.Status, r.Body, r.Omitted = int(s.status.Int64), s.body, r.State == idempotency.Omitted
	if s.expires.Valid {
		r.ExpiresAt = Time(s.expires.Int64)
	}
	if s.header != nil {
		err = json.Unmarshal(s.header, &r.Header)
	}
	look.Record = &r
	return look, err
}

// Columns are a reply as it is stored: state, response_status, response_headers
// and response_body.
func Columns(r idempotency.Reply) ([]any, error) {
	state := idempotency.Done
	if r.Omitted {
		state = idempotency.Omitted
	}
	var header any
	if len(r.Header) > 0 {
		text, err := json.Marshal(r.Header)
		if err != nil {
			return nil, err
		}
		header = string(text)
	}
	return []any{string(state), sql.NullInt64{Int64: int64(r.Status), Valid: r.Status != 0}, header, r.Body}, nil
}

// Key are the primary key's columns.
func Key(k idempotency.Key, more ...any) []any {
	return append([]any{k.Scope, k.Principal, k.Value}, more...)
}

// SendBefore is a claim's time, or NULL.
func SendBefore(c idempotency.Claim) sql.NullInt64 {
	return sql.NullInt64{Int64: c.SendBefore.UnixMilli(), Valid: !c.SendBefore.IsZero()}
}

// Time is a stored time.
func Time(milliseconds int64) time.Time { return time.UnixMilli(milliseconds).UTC() }

// After is the beginning of a purge's batch.
func After(p idempotency.Purge) int64 { return max(0, p.After.UnixMilli()) }

// Changed reports whether a statement changed a row.
func Changed(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// Counts runs a query for rows of a scope and a count.
func Counts(ctx context.Context, db *sql.DB, query string, args ...any) (map[string]int64, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counts := map[string]int64{}
	for rows.Next() {
		var scope string
		var n int64
		if err := rows.Scan(&scope, &n); err != nil {
			return nil, err
		}
		counts[scope] = n
	}
	return counts, rows.Err()
}
