-- +goose Up

-- What a service remembers of the operations that it was asked for. Times are
-- milliseconds since 1970, UTC. The parts of the key are compared byte by byte.
CREATE TABLE IF NOT EXISTS {{table}} (
  scope            VARBINARY(255) NOT NULL,
  principal        VARBINARY(255) NOT NULL,
  `key`            VARBINARY(128) NOT NULL,
  request_hash     VARCHAR(80)    NOT NULL,
  -- done, omitted: the reply is stored, without its body in the second case.
  -- calling, unknown: an external call under a lease, or lost; never purged.
  -- accepted: long work under a lease; the body is its progress. Once the lease
  -- has lapsed, the next request starts the work again.
  state            ENUM('done', 'omitted', 'calling', 'unknown', 'accepted') NOT NULL,
  response_status  INT            NULL,
  response_headers MEDIUMTEXT     NULL,
  response_body    LONGBLOB       NULL,
  owner            VARCHAR(64)    NOT NULL,
  locked_until     BIGINT         NULL,
  created_at       BIGINT         NOT NULL,
  expires_at       BIGINT         NULL,
  PRIMARY KEY (scope, principal, `key`),
  INDEX {{table}}_expires_at (expires_at),
  CONSTRAINT {{table}}_lease CHECK (locked_until IS NOT NULL OR state NOT IN ('calling', 'accepted')),
  CONSTRAINT {{table}}_expiry CHECK ((expires_at IS NULL) = (state IN ('calling', 'unknown')))
) ENGINE = InnoDB CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE {{table}};
