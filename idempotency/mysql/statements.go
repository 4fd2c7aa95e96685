package mysql

import (
	"fmt"
	"strings"
	"time"
)

// now is the database's clock, in the unit of every time in the table:
// milliseconds since 1970. It goes by UTC, since a session's local time is
// ambiguous for an hour each autumn, and it is the same throughout a statement.
const now = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"

// expired is the one expiry predicate, of the claim and of the purge alike.
const expired = "expires_at <= " + now

// statements are the store's SQL, with its table put in.
type statements struct {
	clock, look, lookLocked, place, reclaim, record string
	takeOver, doubt, free                           string
	doomed, remove, count                           string
}

func newStatements(table string) statements {
	const key = "scope = ? AND principal = ? AND `key` = ?"
	in := strings.NewReplacer("{{table}}", table, "{{now}}", now, "{{expired}}", expired, "{{key}}", key).Replace
	look := in(`
SELECT state, request_hash, owner, response_status, response_headers, response_body, expires_at,
       COALESCE({{expired}}, FALSE), COALESCE(locked_until <= {{now}}, FALSE), FALSE
FROM {{table}} WHERE {{key}}`)
	return statements{
		clock: `SELECT ` + now + `, COALESCE(? <= ` + now + `, FALSE)`,
		look:  look,
		// A locking read sees what is committed now, whatever the isolation.
		lookLocked: look + ` LOCK IN SHARE MODE`,

		// The row that holds the key's lock, or its lease.
		place: in("INSERT INTO {{table}} (scope, principal, `key`, request_hash, owner, state, locked_until, created_at)" + `
VALUES (?, ?, ?, ?, ?, 'calling', {{now}} + ?, {{now}})`),

		reclaim: in(`DELETE FROM {{table}} WHERE {{key}} AND {{expired}}`),

		record: in(`
UPDATE {{table}} SET state = ?, response_status = ?, response_headers = ?, response_body = ?, locked_until = NULL,
       expires_at = ?
WHERE {{key}} AND owner = ? AND state = 'calling'`),

		takeOver: in(`
UPDATE {{table}} SET state = 'calling', owner = ?, locked_until = {{now}} + ?
WHERE {{key}} AND request_hash = ? AND (state = 'unknown' OR (state = 'calling' AND locked_until <= {{now}}))`),

		doubt: in(`UPDATE {{table}} SET state = 'unknown', locked_until = NULL WHERE {{key}} AND owner = ? AND state = 'calling'`),
		free:  in(`DELETE FROM {{table}} WHERE {{key}} AND owner = ? AND state = 'calling'`),

		// The index on expires_at gives the order, and where to go on.
		doomed: in("SELECT scope, principal, `key`, expires_at FROM {{table}}" + `
WHERE {{expired}} AND expires_at >= ? AND (? = '' OR scope = ?)
ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED`),
		remove: in(`DELETE FROM {{table}} WHERE `),

		count: in(`SELECT scope, COUNT(*) FROM {{table}} WHERE {{expired}} AND (? = '' OR scope = ?) GROUP BY scope`),
	}
}

// patience sets how long the session waits for a lock, in whole seconds, and
// how long the server keeps a silent session's transaction open. What the
// session had before is kept in the session.
func patience(maxRun time.Duration) string {
	seconds := max(1, int64((maxRun+time.Second-1)/time.Second))
	return fmt.Sprintf(`
SET @idempotency_lock_wait = @@SESSION.innodb_lock_wait_timeout, @idempotency_wait = @@SESSION.wait_timeout,
    SESSION innodb_lock_wait_timeout = 1, SESSION wait_timeout = %d`, seconds)
}

// The connection's own settings again: for the work, which may wait for locks
// as long as they say, and for whoever gets the connection from the pool next.
const (
	ownLockWait = `SET SESSION innodb_lock_wait_timeout = @idempotency_lock_wait`
	ownSettings = ownLockWait + `, SESSION wait_timeout = @idempotency_wait`
)
