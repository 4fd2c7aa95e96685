-- +goose Up

-- What a service remembers of the operations that it was asked for.
CREATE TABLE {{schema}}.{{table}} (
  scope            text        NOT NULL,
  principal        text        NOT NULL,
  key              text        NOT NULL,
  request_hash     text        NOT NULL,
  -- done, omitted: the reply is stored, without its body in the second case.
  -- calling, unknown: an external call under a lease, or lost; never purged.
  state            text        NOT NULL CHECK (state IN ('done', 'omitted', 'calling', 'unknown')),
  response_status  integer,
  response_headers jsonb,
  response_body    bytea,
  owner            text        NOT NULL,
  locked_until     timestamptz CHECK (locked_until IS NOT NULL OR state <> 'calling'),
  created_at       timestamptz NOT NULL,
  expires_at       timestamptz CHECK ((expires_at IS NULL) = (state IN ('calling', 'unknown'))),
  PRIMARY KEY (scope, principal, key)
);
CREATE INDEX {{table}}_expires_at ON {{schema}}.{{table}} (expires_at);

-- +goose Down
DROP TABLE {{schema}}.{{table}};
