-- +goose Up

-- What a service remembers of the operations that it was asked for. Times are
-- milliseconds since 1970. Without a rowid, storing a reply changes one page less.
-- There are no CHECK constraints: SQLite would compile them with each statement.
CREATE TABLE IF NOT EXISTS {{table}} (
  scope            TEXT    NOT NULL,
  principal        TEXT    NOT NULL,
  key              TEXT    NOT NULL,
  request_hash     TEXT    NOT NULL,
  -- done, omitted: the reply is stored, without its body in the second case.
  -- calling, unknown: an external call under a lease, or lost; never purged.
  -- accepted: long work under a lease; the body is its progress. Once the lease
  -- has lapsed, the next request starts the work again.
  state            TEXT    NOT NULL,
  response_status  INTEGER,
  response_headers TEXT,
  response_body    BLOB,
  owner            TEXT    NOT NULL,
  locked_until     INTEGER,
  created_at       INTEGER NOT NULL,
  expires_at       INTEGER,
  PRIMARY KEY (scope, principal, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS {{table}}_expires_at ON {{table}} (expires_at);

-- +goose Down
DROP TABLE {{table}};
