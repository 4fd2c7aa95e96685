package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// quick is the short way over one connection: the opening and the closing batch
// without pgx's conversions and bookkeeping, which made most of what a request
// allocated. What the server is told is the same.
type quick struct {
	begin, beginWrite, lock, look, record, commit *pgconn.StatementDescription
	// tx is a transaction of the connection as pgx sees it, for the work. One
	// serves them all: it is closed by its own endings only, which are kept
	// from the work.
	tx pgx.Tx
}

// quickOn returns the short way over a connection; nil when there is none,
// because its owner wants no prepared statements there, or traces them. The
// first use of a connection makes it ready, in round trips of their own.
func (s *Store) quickOn(ctx context.Context, conn *pgx.Conn) (q *quick, err error) {
	ways := conn.PgConn().CustomData()
	q, known := ways[s.name].(*quick)
	if known {
		return q, nil
	}
	config := conn.Config()
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && config.Tracer == nil {
		if q, err = s.prepare(ctx, conn); err != nil {
			return nil, err
		}
	}
	ways[s.name] = q
	return q, nil
}

// forget has the connection made ready anew: after an error nobody knows
// whether the statements are still there and still fit the table.
func (s *Store) forget(conn *pgx.Conn) { delete(conn.PgConn().CustomData(), s.name) }

// unasked stands for the columns of a statement that returns no rows. Where
// there are none, pgconn asks the server each time whether there are some by now.
var unasked = make([]pgconn.FieldDescription, 1)

func (s *Store) prepare(ctx context.Context, conn *pgx.Conn) (*quick, error) {
	d, err := describe(ctx, conn.PgConn(), beginReadCommitted, beginTx, s.sql.lock, s.sql.look, s.sql.record, `COMMIT`)
	if err != nil {
		return nil, err
	}
	q := &quick{begin: d[0], beginWrite: d[1], lock: d[2], look: d[3], record: d[4], commit: d[5]}
	if !lockShape.fits(q.lock) || !lookShape.fits(q.look) || !recordShape.fits(q.record) {
		return nil, nil
	}
	for _, d := range []*pgconn.StatementDescription{q.begin, q.beginWrite, q.record, q.commit} {
		d.Fields = unasked
	}
	if q.tx, err = conn.Begin(ctx); err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `ROLLBACK`) // not by q.tx, which that would close
	return q, err
}

// describe prepares statements in one round trip. They are named after their
// text; what an earlier error left under the name is removed first.
func describe(ctx context.Context, conn *pgconn.PgConn, texts ...string) (d []*pgconn.StatementDescription, err error) {
	p := conn.StartPipeline(ctx)
	for _, text := range texts {
		digest := sha256.Sum256([]byte(text))
		name := "cronce_" + hex.EncodeToString(digest[:16])
		p.SendDeallocate(name)
		p.SendPrepare(name, text, nil)
		d = append(d, &pgconn.StatementDescription{Name: name, SQL: text})
	}
	err = p.Sync()
	for i := 0; err == nil && i < 2*len(d); i++ { // of each text a removal and a description
		var result any
		result, err = p.GetResults()
		if found, ok := result.(*pgconn.StatementDescription); ok {
			d[i/2].ParamOIDs, d[i/2].Fields = found.ParamOIDs, found.Fields
		}
	}
	return d, errors.Join(err, p.Close())
}
