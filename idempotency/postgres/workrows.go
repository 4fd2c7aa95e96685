package postgres

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// workRows are rows that the work reads. A goroutine that outlives the work
// finds them closed.
type workRows struct {
	pgx.Rows
	state *txState
}

func (r workRows) Next() bool {
	r.state.mu.Lock()
	more := r.Rows.Next()
	r.state.mu.Unlock()
	if !more {
		r.note()
	}
	return more
}

func (r workRows) Scan(dest ...any) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.Rows.Scan(dest...)
}

func (r workRows) Close() {
	r.state.mu.Lock()
	r.Rows.Close()
	r.state.mu.Unlock()
	r.note()
}

func (r workRows) note() { _ = r.state.note(r.CommandTag(), r.Err()) }

// workRow is the one row of a query, as pgx reads it.
type workRow struct{ rows pgx.Rows }

func (r workRow) Scan(dest ...any) error {
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	_ = r.rows.Scan(dest...) // what fails is the rows' error too
	r.rows.Close()
	return r.rows.Err()
}

// workBatch are the results of a batch that the work sent.
type workBatch struct {
	pgx.BatchResults
	state *txState
}

func (b workBatch) Exec() (pgconn.CommandTag, error) {
	tag, err := b.BatchResults.Exec()
	return tag, b.state.note(tag, err)
}

func (b workBatch) Query() (pgx.Rows, error) {
	rows, err := b.BatchResults.Query()
	return workRows{rows, b.state}, b.state.note(pgconn.CommandTag{}, err)
}

func (b workBatch) QueryRow() pgx.Row {
	rows, _ := b.Query()
	return workRow{rows}
}

func (b workBatch) Close() error {
	return b.state.note(pgconn.CommandTag{}, b.BatchResults.Close())
}
