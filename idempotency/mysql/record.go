package mysql

import (
	"context"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// literalBody is how many bytes of a body are written into a statement's text,
// where each takes two. A longer one travels as it is.
const literalBody = 64 << 10

// record turns the owner's placed row into a record; held is false when there
// is no such row. The session is not the caller's.
func (s *Store) record(ctx context.Context, q Querier, c idempotency.Claim, r idempotency.Reply) (expires time.Time, held bool, err error) {
	text, err := s.recording(c, r)
	if err != nil {
		return expires, false, err
	}
	result, err := q.ExecContext(ctx, text, long(r)...)
	if held, err = sqlkeys.Changed(result, err); err != nil {
		return expires, false, unavailable("store the reply", err)
	}
	until, err := result.LastInsertId()
	return sqlkeys.Time(until), held, err
}

// recordBeside is record in a session of the caller's.
func (s *Store) recordBeside(ctx context.Context, q Querier, c idempotency.Claim, r idempotency.Reply) (expires time.Time, held bool, err error) {
	reply, err := columns(r)
	if err != nil {
		return expires, false, err
	}
	var clock int64
	if err = q.QueryRowContext(ctx, s.sql.clock.with()).Scan(&clock); err == nil {
		clock += c.TTL.Milliseconds()
		values := append(append(reply, clock), sqlkeys.Key(c.Key, c.Owner)...)
		held, err = sqlkeys.Changed(q.ExecContext(ctx, s.sql.recordUntil.with(values...), long(r)...))
	}
	if err != nil {
		return expires, false, unavailable("store the reply", err)
	}
	return sqlkeys.Time(clock), held, nil
}

func (s *Store) recording(c idempotency.Claim, r idempotency.Reply) (string, error) {
	reply, err := columns(r)
	if err != nil {
		return "", err
	}
	values := append(append(reply, c.TTL.Milliseconds()), sqlkeys.Key(c.Key, c.Owner)...)
	return s.sql.record.with(values...), nil
}

// columns are a reply's, with a gap for a body that travels as it is.
func columns(r idempotency.Reply) ([]any, error) {
	columns, err := sqlkeys.Columns(r)
	if len(r.Body) > literalBody {
		columns[len(columns)-1] = parameter{}
	}
	return columns, err
}

// long is the value for that gap.
func long(r idempotency.Reply) []any {
	if len(r.Body) > literalBody {
		return []any{r.Body}
	}
	return nil
}
