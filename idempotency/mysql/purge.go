package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// Purge implements [sqlkeys.Dialect]. The rows are locked, with those that
// somebody else has locked left out, and then removed by their keys.
func (d *dialect) Purge(ctx context.Context, tx *sql.Tx, p purge.Batch) (done purge.BatchResult, err error) {
	done = purge.BatchResult{Scopes: map[string]int64{}, Last: p.After}
	keys, err := d.lock(ctx, tx, p, &done)
	for len(keys) > 0 && err == nil {
		n := min(len(keys), removeAtOnce)
		err = d.remove(ctx, tx, keys[:n])
		keys = keys[n:]
	}
	return done, err
}

// lock locks the batch's rows and counts them.
func (d *dialect) lock(ctx context.Context, tx *sql.Tx, p purge.Batch, done *purge.BatchResult) (keys []store.Key, err error) {
	rows, err := d.doomed.Query(ctx, tx, sqlkeys.Batch(p))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var k store.Key
		var expires int64
		if err := rows.Scan(&k.Scope, &k.Principal, &k.Value, &expires); err != nil {
			return nil, err
		}
		keys = append(keys, k)
		sqlkeys.Add(done, k.Scope, expires)
	}
	return keys, rows.Err()
}

// removeAtOnce is few enough for the server to look each key up: of a longer
// condition it may decide to read the whole table.
const removeAtOnce = 200

func (d *dialect) remove(ctx context.Context, tx *sql.Tx, keys []store.Key) error {
	const key = "(scope = ? AND principal = ? AND `key` = ?)"
	args := make([]any, 0, 3*len(keys))
	for _, k := range keys {
		args = append(args, k.Scope, k.Principal, k.Value)
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM "+d.terms.Table+" WHERE "+key+strings.Repeat(" OR "+key, len(keys)-1), args...)
	return err
}
