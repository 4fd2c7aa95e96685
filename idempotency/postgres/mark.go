package postgres

import (
	"context"
	"strings"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/store"
)

// mark places the key's row in the transaction, as package pgsql does for each call. The row
// says that the outcome is unknown. If the work commits the transaction itself, the row is
// committed with it, and keeps every other call from the work, whatever becomes of the
// connection, the process and the server.
func (t *tx) mark(ctx context.Context) error {
	if t.conn.PgConn().TxStatus() != 'T' {
		return nil // what was aborted cannot be committed, and an end is known
	}
	s := t.store.sql().mark
	if _, err := t.conn.Exec(ctx, s.Text(), s.Args(t.began(t.claim))...); err != nil {
		return unavailable("store the key before a COMMIT of the work", err)
	}
	t.opened.placed = true
	return nil
}

// began are the values of a statement that acts only in the transaction that was opened.
func (t *tx) began(c store.Claim) sqlkeys.Values {
	v := sqlkeys.Of(c)
	v["began"] = t.opened.began
	return v
}

// beforeCommit marks the key before the work sends SQL that may commit.
func (l *life) beforeCommit(ctx context.Context, sql string) error {
	if !mayCommit(sql) {
		return nil
	}
	return l.mark(ctx)
}

// mayCommit reports whether one of the statements in SQL begins with COMMIT, END or PREPARE.
// It takes every semicolon for the end of a statement, one in a literal too, so that it
// misses none.
func mayCommit(sql string) bool {
	for more := true; more; _, sql, more = strings.Cut(sql, ";") {
		switch strings.ToUpper(firstWord(sql)) {
		case "COMMIT", "END", "PREPARE":
			return true
		}
	}
	return false
}

// firstWord is the first word of SQL after blanks and comments, which can be nested.
func firstWord(sql string) string {
	for depth := 0; sql != ""; {
		switch {
		case strings.HasPrefix(sql, "/*"):
			depth, sql = depth+1, sql[2:]
		case depth > 0 && strings.HasPrefix(sql, "*/"):
			depth, sql = depth-1, sql[2:]
		case depth > 0 || strings.IndexByte(" \t\n\v\f\r", sql[0]) >= 0:
			sql = sql[1:]
		case strings.HasPrefix(sql, "--"):
			sql = sql[strings.IndexAny(sql+"\n", "\n\r"):]
		default:
			end := strings.IndexFunc(sql, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
			if end < 0 {
				return sql
			}
			return sql[:end]
		}
	}
	return ""
}
