package sqlite

import "strings"

// now is the database's clock, in the unit of every time in the table:
// milliseconds since 1970. It is the same throughout a statement.
const now = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

// expired is the one expiry predicate, of the claim and of the purge alike.
const expired = `expires_at <= ` + now

// statements are the store's SQL, with its table put in.
type statements struct {
	look, record, reserve, takeOver, settle, doubt, free string
	batch, count                                         string
}

func newStatements(table string) statements {
	in := strings.NewReplacer("{{table}}", table, "{{now}}", now, "{{expired}}", expired).Replace
	return statements{
		// ?1 scope, ?2 principal, ?3 key, ?4 send-before or NULL. The left join
		// gives the clock's part of the answer when there is no row.
		look: in(`
SELECT k.state, k.request_hash, k.owner, k.response_status, k.response_headers, k.response_body,
       k.expires_at, 0, coalesce(k.locked_until <= {{now}}, 0), coalesce(?4 <= {{now}}, 0)
FROM (SELECT 1) LEFT JOIN {{table}} k
  ON k.scope = ?1 AND k.principal = ?2 AND k.key = ?3 AND (k.{{expired}}) IS NOT TRUE`),

		// ?4 hash, ?5 owner, ?6 ttl, ?7 state, ?8 status, ?9 headers, ?10 body.
		// A row that is in the way is an expired one, and is reclaimed.
		record: in(`
INSERT INTO {{table}} (scope, principal, key, request_hash, owner, created_at, expires_at,
                       state, response_status, response_headers, response_body)
VALUES (?1, ?2, ?3, ?4, ?5, {{now}}, {{now}} + ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (scope, principal, key) DO UPDATE
SET request_hash = excluded.request_hash, state = excluded.state, response_status = excluded.response_status,
    response_headers = excluded.response_headers, response_body = excluded.response_body, owner = excluded.owner,
    locked_until = NULL, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE {{expired}}
RETURNING expires_at`),

		// ?4 hash, ?5 owner, ?6 lease.
		reserve: in(`
INSERT INTO {{table}} (scope, principal, key, request_hash, state, owner, locked_until, created_at)
VALUES (?1, ?2, ?3, ?4, 'calling', ?5, {{now}} + ?6, {{now}})
ON CONFLICT (scope, principal, key) DO UPDATE
SET request_hash = excluded.request_hash, state = 'calling', owner = excluded.owner, locked_until = excluded.locked_until,
    created_at = excluded.created_at, expires_at = NULL,
    response_status = NULL, response_headers = NULL, response_body = NULL
WHERE {{expired}}`),

		// ?4 hash, ?5 owner, ?6 lease.
		takeOver: in(`
UPDATE {{table}} SET state = 'calling', owner = ?5, locked_until = {{now}} + ?6
WHERE scope = ?1 AND principal = ?2 AND key = ?3 AND request_hash = ?4
  AND (state = 'unknown' OR (state = 'calling' AND locked_until <= {{now}}))`),

		// ?4 owner, ?5 ttl, ?6 state, ?7 status, ?8 headers, ?9 body.
		settle: in(`
UPDATE {{table}}
SET state = ?6, response_status = ?7, response_headers = ?8, response_body = ?9, locked_until = NULL,
    expires_at = {{now}} + ?5
WHERE scope = ?1 AND principal = ?2 AND key = ?3 AND owner = ?4 AND state = 'calling'
RETURNING expires_at`),

		doubt: in(`
UPDATE {{table}} SET state = 'unknown', locked_until = NULL
WHERE scope = ?1 AND principal = ?2 AND key = ?3 AND owner = ?4 AND state = 'calling'`),

		free: in(`
DELETE FROM {{table}} WHERE scope = ?1 AND principal = ?2 AND key = ?3 AND owner = ?4 AND state = 'calling'`),

		// ?1 scope or '', ?2 after, ?3 limit. The index on expires_at gives the
		// order, and where to go on.
		batch: in(`
DELETE FROM {{table}} WHERE rowid IN (
  SELECT rowid FROM {{table}}
  WHERE {{expired}} AND expires_at >= ?2 AND (?1 = '' OR scope = ?1)
  ORDER BY expires_at LIMIT ?3)
RETURNING scope, expires_at`),

		count: in(`SELECT scope, count(*) FROM {{table}} WHERE {{expired}} AND (?1 = '' OR scope = ?1) GROUP BY scope`),
	}
}
