package sqlkeys

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// Quote makes an SQL identifier of a table's name, each part of a qualified one
// between marks, so that any name is a name and nothing else.
func Quote(table, mark string) string {
	parts := strings.Split(table, ".")
	for i, part := range parts {
		parts[i] = mark + strings.ReplaceAll(part, mark, mark+mark) + mark
	}
	return strings.Join(parts, ".")
}

// Now is this process's clock, in milliseconds since 1970.
func Now() int64 { return time.Now().UnixMilli() }

// Time is a stored time.
func Time(milliseconds int64) time.Time { return time.UnixMilli(milliseconds).UTC() }

// ScanStatus reads what [Terms.LookupFor] selects. expired: a row is there, and it is
// none any more.
func ScanStatus(row interface{ Scan(...any) error }) (status store.KeyStatus, expired bool, err error) {
	var state, hash, owner, header sql.NullString
	var replyStatus, expires sql.NullInt64
	var body []byte
	err = row.Scan(&state, &hash, &owner, &replyStatus, &header, &body, &expires, &expired, &status.LeaseExpired, &status.TooLate)
	if err != nil || !state.Valid || expired {
		status.LeaseExpired = false
		return status, expired, err
	}
	r := store.Record{State: store.State(state.String), Fingerprint: hash.String, Owner: owner.String}
	r.Status, r.Body, r.Omitted = int(replyStatus.Int64), body, r.State == store.StateOmitted
	if expires.Valid {
		r.ExpiresAt = Time(expires.Int64)
	}
	if header.Valid {
		err = json.Unmarshal([]byte(header.String), &r.Header)
	}
	status.Record = &r
	return status, false, err
}

// Claimant is the owner of a key's row whose transaction is open.
func Claimant(c store.Claim) string { return "claim:" + c.Owner }

// NotStored is why no reply could take the place of the claimant's row: another call's row
// is there, or the work has ended the transaction.
func NotStored(status store.KeyStatus, c store.Claim) error {
	if r := status.Record; r != nil && r.Owner != Claimant(c) && r.Owner != c.Owner {
		return store.ErrLostRace
	}
	return store.ErrTxEnded
}

// Columns returns the columns of a reply, without its body.
func Columns(r store.Reply) (state string, status, headers any, err error) {
	state = string(store.StateDone)
	if r.Omitted {
		state = string(store.StateOmitted)
	}
	if r.Status != 0 {
		status = int64(r.Status)
	}
	if len(r.Header) > 0 {
		text, err := json.Marshal(r.Header)
		return state, status, string(text), err
	}
	return state, status, nil, nil
}

// Reply adds a reply's columns to the values.
func (v Values) Reply(r store.Reply) (err error) {
	v["state"], v["status"], v["headers"], err = Columns(r)
	v["body"] = r.Body
	return err
}

// Batch are the values of a purge's batch.
func Batch(p purge.Batch) Values {
	return Values{"now": Now(), "only": p.Scope, "after": max(0, p.After.UnixMilli()), "limit": p.Limit}
}

// Removed reads the scope and the expiry of the rows that a purge removes.
func Removed(ctx context.Context, q Querier, s Statement, p purge.Batch) (purge.BatchResult, error) {
	done := purge.BatchResult{Scopes: map[string]int64{}, Last: p.After}
	rows, err := s.Query(ctx, q, Batch(p))
	if err != nil {
		return done, err
	}
	defer rows.Close()
	for rows.Next() {
		var scope string
		var expires int64
		if err := rows.Scan(&scope, &expires); err != nil {
			return done, err
		}
		Add(&done, scope, expires)
	}
	return done, rows.Err()
}

// Add counts a row that a purge removes.
func Add(done *purge.BatchResult, scope string, expires int64) {
	done.Scopes[scope]++
	done.Rows++
	if at := Time(expires); at.After(done.Last) {
		done.Last = at
	}
}

// counts reads rows of a scope and a count.
func counts(ctx context.Context, q Querier, s Statement, v Values) (map[string]int64, error) {
	rows, err := s.Query(ctx, q, v)
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
