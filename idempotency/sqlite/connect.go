package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// connect takes a connection of the pool's. Those of [Open] share no cache, so
// that no setting lets them see what is not committed.
func (s *Store) connect(ctx context.Context) (*sql.Conn, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	err = conn.Raw(func(dc any) error {
		if _, ok := dc.(*keeper); !ok {
			return driver.ErrSkip
		}
		return nil
	})
	if errors.Is(err, driver.ErrSkip) {
		err = committedOnly(ctx, conn)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// committedOnly refuses a connection on which a reply could be found that may
// yet be rolled back.
func committedOnly(ctx context.Context, q Querier) error {
	var uncommitted bool
	err := q.QueryRowContext(ctx, `PRAGMA read_uncommitted`).Scan(&uncommitted)
	if err == nil && uncommitted {
		err = errors.New("this connection reads what is not committed: leave PRAGMA read_uncommitted off, or open the file by sqlite.Open")
	}
	return err
}
