package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// batching is how several statements go to the server.
type batching int32

const (
	untried  batching = iota
	compound          // in one statement, BEGIN NOT ATOMIC, which MariaDB takes from anybody
	listed            // in one query, where the pool's owner allows it: multiStatements=true
	singly            // each in a query of its own
)

// text is the statements as one query, which ends at the first that fails; not
// ok when the server wants them one by one.
func (b batching) text(statements []string) (text string, ok bool) {
	switch b {
	case listed:
		return strings.Join(statements, ";"), true
	case compound:
		return "BEGIN NOT ATOMIC " + strings.Join(statements, ";") + ";END", true
	}
	return "", false
}

// tryBatches finds out what the pool's connections take, by batches without
// effect. It is asked of one connection; one that takes less gives a syntax
// error, before anything of a batch is done. What is refused for another reason
// is not done without for good.
func (s *Store) tryBatches(ctx context.Context, conn *sql.Conn) (batching, error) {
	if b := batching(s.batches.Load()); b != untried {
		return b, nil
	}
	found := singly
	for b := compound; b != singly; b++ {
		text, _ := b.text([]string{`DO 0`, `DO 0`})
		_, err := conn.ExecContext(ctx, text)
		switch {
		case err == nil:
			s.batches.Store(int32(b))
			return b, nil
		case code(err) == 0:
			return untried, err
		case code(err) != syntaxError:
			found = untried
		}
	}
	s.batches.Store(int32(found))
	return singly, nil
}

// say says statements to the server, in one message where it takes that, and
// stops at the first that fails. Of each that brings a row, read gets the first;
// nil: none does.
func (t *tx) say(ctx context.Context, read func(sqlkeys.Row) error, statements ...string) error {
	if text, ok := t.batches.text(statements); ok {
		return say(ctx, t.q, read, text)
	}
	for _, statement := range statements {
		if err := say(ctx, t.q, read, statement); err != nil {
			return err
		}
	}
	return nil
}

// say reads to the end: an error of a later statement of the text comes after
// the rows of an earlier one.
func say(ctx context.Context, q Querier, read func(sqlkeys.Row) error, text string) error {
	if read == nil {
		_, err := q.ExecContext(ctx, text)
		return err
	}
	rows, err := q.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		if rows.Next() {
			if err := read(rows); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}
