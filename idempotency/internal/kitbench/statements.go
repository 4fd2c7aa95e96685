package kitbench

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Usual is a key table as it is usually written: the key, a hash of the payload,
// the reply, and an indexed expiry by which a job deletes rows.
type Usual struct{ Look, Claim, Record string }

// NewUsual has the statements. numbered: parameters are $1, $2; else ?.
func NewUsual(numbered bool) Usual {
	u := Usual{
		Look:   `SELECT request_hash, status, body FROM usual WHERE name = $1`,
		Claim:  `INSERT INTO usual (name, request_hash, state, created_at, expires_at) VALUES ($1, $2, 'running', $3, $4)`,
		Record: `UPDATE usual SET state = 'done', status = $1, body = $2 WHERE name = $3`,
	}
	if !numbered {
		for _, s := range []*string{&u.Look, &u.Claim, &u.Record} {
			*s = strings.NewReplacer("$1", "?", "$2", "?", "$3", "?", "$4", "?").Replace(*s)
		}
	}
	return u
}

// Create has the statements that create the table, whose bodies are of a type.
func (Usual) Create(bytes string) []string {
	return []string{
		`CREATE TABLE usual (name VARCHAR(100) PRIMARY KEY, request_hash VARCHAR(64) NOT NULL, state VARCHAR(20) NOT NULL,
			status INTEGER, body ` + bytes + `, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)`,
		`CREATE INDEX usual_expires_at ON usual (expires_at)`,
	}
}

// Paid is the reply of every way.
var Paid = struct {
	Status int
	Body   []byte
}{201, []byte("paid")}

// Times are when a key is created, now, and when it expires, in milliseconds.
func Times() (created, expires int64) {
	now := time.Now()
	return now.UnixMilli(), now.Add(24 * time.Hour).UnixMilli()
}

// Querier is a transaction of an engine behind database/sql.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Effect is the work of every way, on such an engine.
func Effect(ctx context.Context, tx Querier) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES ('paid')`)
	return err
}

// Do does the work once a key.
func (u Usual) Do(ctx context.Context, tx Querier, key, hash string) error {
	var found string
	var status int
	var body []byte
	err := tx.QueryRowContext(ctx, u.Look, key).Scan(&found, &status, &body)
	if !errors.Is(err, sql.ErrNoRows) {
		return errors.Join(errors.New("every key is new here"), err)
	}
	created, expires := Times()
	if _, err := tx.ExecContext(ctx, u.Claim, key, hash, created, expires); err != nil {
		return err
	}
	if err := Effect(ctx, tx); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, u.Record, Paid.Status, Paid.Body, key)
	return err
}
