-- +goose Up

-- What a service remembers of the operations that it was asked for. The key's
-- collation is the cheapest to compare, and its first column is the one that
-- tells most rows apart: with the scope first, which many rows share, each step
-- down the index compared three texts. There are no CHECK constraints: the
-- server would parse them anew for every insert, at a quarter of its cost.
CREATE TABLE IF NOT EXISTS {{schema}}.{{table}} (
  scope            text COLLATE "C" NOT NULL,
  principal        text COLLATE "C" NOT NULL,
  key              text COLLATE "C" NOT NULL,
  request_hash     text        NOT NULL,
  -- done, omitted: the reply is stored, without its body in the second case.
  -- calling, unknown: an external call under a lease, or lost; never purged.
  -- accepted: long work under a lease; the body is its progress. Once the lease
  -- has lapsed, the next request starts the work again.
  state            text        NOT NULL,
  response_status  integer,
  response_headers jsonb,
  response_body    bytea,
  owner            text        NOT NULL,
  locked_until     timestamptz,
  created_at       timestamptz NOT NULL,
  expires_at       timestamptz,
  PRIMARY KEY (key, principal, scope)
);
CREATE INDEX IF NOT EXISTS {{table}}_expires_at ON {{schema}}.{{table}} (expires_at);

-- +goose Down
DROP TABLE {{schema}}.{{table}};
