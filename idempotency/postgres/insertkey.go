package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/store"
)

// insertKey inserts the key's row in the transaction, as package pgsql does for each call. The row
// says that the outcome is unknown. If the work commits the transaction itself, the row is
// committed with it, and keeps every other call from the work, whatever becomes of the
// connection, the process and the server.
func (t *tx) insertKey(ctx context.Context) (err error) {
	if t.conn.PgConn().TxStatus() != 'T' {
		return nil // what was aborted cannot be committed, and an end is known
	}
	var role string // of the work
	if t.store.role != "" {
		if err = t.conn.QueryRow(ctx, `SELECT current_setting('role')`).Scan(&role); err == nil {
			_, err = t.conn.Exec(ctx, `SET LOCAL ROLE `+t.store.role)
		}
	}
	if s := t.store.sql().insertKey; err == nil {
		_, err = t.conn.Exec(ctx, s.Text(), s.Args(t.began(t.claim))...)
	}
	if err == nil && role != "" {
		_, err = t.conn.Exec(ctx, `SELECT set_config('role', $1, true)`, role)
	}
	if err != nil {
		return t.commitError(false, fmt.Errorf("store the key before a COMMIT of the work: %w", err))
	}
	t.opened.inserted = true
	return nil
}

// began are the values of a statement that acts only in the transaction that was opened.
func (t *tx) began(c store.Claim) sqlkeys.Values {
	v := sqlkeys.Of(c)
	v["began"] = t.opened.began
	return v
}

// errMixed keeps the key's row from being lost before a commit.
var errMixed = fmt.Errorf("%w: send a ROLLBACK in a call of its own, not in one string or batch with what follows it", store.ErrTxManaged)

// beforeEnd inserts the key's row before the work sends SQL, in one string or batch, that may commit. It
// refuses SQL that would first undo that: then nothing would tell of a commit whose answer is
// lost.
func (t *workTx) beforeEnd(ctx context.Context, texts ...string) error {
	var commits, undone, ended bool
	conn := t.Conn().PgConn()
	aborted := conn.TxStatus() == 'E' // a COMMIT rolls it back
	for _, sql := range texts {
		l, more := lexer{sql, conn.ParameterStatus("standard_conforming_strings") == "off"}, true
		for more {
			var statement string
			statement, more = l.next()
			word, rest := firstWord(statement)
			word = strings.ToUpper(word)
			switch {
			case word == "" && rest == "":
			case ended:
				return errMixed
			case word == "COMMIT", word == "END", word == "PREPARE":
				commits, ended = true, aborted
			case word == "ROLLBACK", word == "ABORT":
				undone, ended = true, !toSavepointOf.MatchString(rest)
			}
			if commits && undone {
				return errMixed
			}
		}
	}
	if ended {
		t.state.endedByWork()
	}
	if !commits {
		return nil
	}
	return t.state.insertKey(ctx)
}

var toSavepointOf = regexp.MustCompile(`(?i)^\s+((WORK|TRANSACTION)\s+)?TO\b`)
