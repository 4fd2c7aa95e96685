package mysql

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// now is the database's clock, in the unit of every time in the table:
// milliseconds since 1970. It goes by UTC, since a session's local time is
// ambiguous for an hour each autumn, and it is the same throughout a statement.
const now = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"

// expired is the one expiry predicate, of the claim and of the purge alike.
const expired = "expires_at <= " + now

// statements are the store's SQL, with its table put in.
type statements struct {
	clock, late, look, lookLocked, place, reclaim statement
	lookOutside                                   [2]statement
	record, recordUntil                           statement
	takeOver, doubt, free                         statement
	doomed, remove, doomedKey, count              statement
}

func newStatements(table string) statements {
	const key = "scope = ? AND principal = ? AND `key` = ?"
	put := strings.NewReplacer("{{table}}", table, "{{now}}", now, "{{expired}}", expired)
	in := func(text string) statement { return newStatement(strings.ReplaceAll(text, "{{key}}", key), put) }
	// The headers as they were written, whatever the connection's character set.
	look := func(more, from string) string {
		return `
SELECT state, request_hash, owner, response_status, CAST(response_headers AS BINARY), response_body, expires_at,
       locked_until, {{now}}` + more + `
FROM ` + from + ` LIMIT 1`
	}
	const inside = `{{table}} WHERE {{key}}`
	outside := func(isolation string) statement {
		return in(look(`, `+isolation+` = 'READ-UNCOMMITTED' OR NOT @@autocommit`,
			`(SELECT 1 AS one LIMIT 1) asked LEFT JOIN {{table}} ON {{key}}`))
	}
	record := func(until string) statement {
		return in(`
UPDATE {{table}} SET state = ?, response_status = ?, response_headers = ?, response_body = ?, locked_until = NULL,
       expires_at = ` + until + `
WHERE {{key}} AND owner = ? AND state = 'calling'`)
	}
	// Each SELECT has a limit of its own, since a session may have set another
	// for those that have none.
	return statements{
		clock: in(`SELECT {{now}} LIMIT 1`),
		late:  in(`SELECT ? <= {{now}} LIMIT 1`),
		look:  in(look(``, inside)),
		// A locking read sees what is committed now, whatever the isolation.
		lookLocked: in(look(``, inside) + ` LOCK IN SHARE MODE`),
		// One by the session's isolation, whose name is the second up to
		// MariaDB 11.0. It has a row for a key without one too.
		lookOutside: [2]statement{outside(`@@transaction_isolation`), outside(`@@tx_isolation`)},

		// The row that holds the key's lock, or its lease.
		place: in("INSERT INTO {{table}} (scope, principal, `key`, request_hash, owner, state, locked_until, created_at)" + `
VALUES (?, ?, ?, ?, ?, 'calling', {{now}} + ?, {{now}})`),

		reclaim: in(`DELETE FROM {{table}} WHERE {{key}} AND {{expired}}`),

		// The server says the time of expiry with the answer to the statement,
		// as the id that a row was given. In a session of the caller's that
		// would take the place of the id of one of the caller's rows.
		record:      record(`LAST_INSERT_ID({{now}} + ?)`),
		recordUntil: record(`?`),

		takeOver: in(`
UPDATE {{table}} SET state = 'calling', owner = ?, locked_until = {{now}} + ?
WHERE {{key}} AND request_hash = ? AND (state = 'unknown' OR (state = 'calling' AND locked_until <= {{now}}))`),

		doubt: in(`UPDATE {{table}} SET state = 'unknown', locked_until = NULL WHERE {{key}} AND owner = ? AND state = 'calling'`),
		free:  in(`DELETE FROM {{table}} WHERE {{key}} AND owner = ? AND state = 'calling'`),

		// The index on expires_at gives the order, and where to go on.
		doomed: in("SELECT scope, principal, `key`, expires_at FROM {{table}}" + `
WHERE {{expired}} AND expires_at >= ? AND (? = '' OR scope = ?)
ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED`),
		remove:    in(`DELETE FROM {{table}} WHERE `),
		doomedKey: in(`({{key}})`),

		count: in(`SELECT scope, COUNT(*) FROM {{table}} WHERE {{expired}} AND (? = '' OR scope = ?) GROUP BY scope LIMIT 18446744073709551615`),
	}
}

// opening begins a transaction and sets how long the session waits for a lock,
// in whole seconds, and how long the server keeps a silent session's transaction
// open. What the session had before is kept in the session.
func opening(maxRun time.Duration) []string {
	seconds := max(1, int64((maxRun+time.Second-1)/time.Second))
	return []string{
		fmt.Sprintf(`SET @idempotency_lock_wait = @@SESSION.innodb_lock_wait_timeout, @idempotency_wait = @@SESSION.wait_timeout,
SESSION innodb_lock_wait_timeout = 1, SESSION wait_timeout = %d`, seconds),
		nextTransaction,
		start,
	}
}

// A transaction of the store's, whatever the session's completion_type,
// isolation and tx_read_only are.
const (
	nextTransaction = `SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE`
	start           = `START TRANSACTION`
	commit          = `COMMIT AND NO CHAIN NO RELEASE`
	rollback        = `ROLLBACK AND NO CHAIN NO RELEASE`
)

// claiming takes the key for work: the row, after an expired one is removed,
// and the savepoint by which it is known later whether the work ended the
// transaction. A row is read only if the caller may have stopped asking.
func (s statements) claiming(c idempotency.Claim, reclaim bool) (texts []string) {
	if reclaim {
		texts = append(texts, s.reclaim.with(sqlkeys.Key(c.Key)...))
	}
	texts = append(texts, s.placing(c, 0), ownLockWait, `SAVEPOINT `+working)
	if !c.SendBefore.IsZero() {
		texts = append(texts, s.late.with(sqlkeys.SendBefore(c)))
	}
	return texts
}

func (s statements) placing(c idempotency.Claim, lease time.Duration) string {
	return s.place.with(sqlkeys.Key(c.Key, c.Fingerprint, c.Owner, lease.Milliseconds())...)
}

// working is the work's savepoint in a transaction of the store's own.
const working = `idempotent_work`

// The connection's own settings again: for the work, which may wait for locks
// as long as they say, and for whoever gets the connection from the pool next.
const (
	ownLockWait = `SET SESSION innodb_lock_wait_timeout = @idempotency_lock_wait`
	ownSettings = ownLockWait + `, SESSION wait_timeout = @idempotency_wait`
)

// closing is what there is to do besides the record. The second statement is an
// error (outOfRange), so that nothing is committed, when the record changed no
// row. The settings are back before it is committed: nothing that fails
// afterwards makes a doubt of a commit. The last one brings the time of expiry.
func closing(record string) []string {
	return []string{
		`RELEASE SAVEPOINT ` + working,
		record,
		`SET @idempotency_changed = 9223372036854775807 * (2 - ROW_COUNT()), SESSION wait_timeout = @idempotency_wait`,
		commit,
		`SELECT LAST_INSERT_ID() LIMIT 1`,
	}
}
