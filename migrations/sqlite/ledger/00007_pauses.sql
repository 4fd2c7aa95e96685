-- Pauses with an end, of many jobs, and holds of targets.

-- +goose Up
CREATE TABLE pauses (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT    NOT NULL,                -- ledger.PauseKind
  selector   TEXT    NOT NULL,                -- ledger.Selector, JSON
  from_at    INTEGER NOT NULL,
  until_at   INTEGER NOT NULL,                -- exclusive
  by         TEXT    NOT NULL,
  why        TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  ended_at   INTEGER                          -- NULL: it lasts, or nobody noted its end
) STRICT;

-- Every admission and claim reads them.
CREATE INDEX pauses_open ON pauses (id) WHERE ended_at IS NULL;
CREATE INDEX pauses_until ON pauses (until_at);

ALTER TABLE audit ADD COLUMN about TEXT NOT NULL DEFAULT '';   -- a pause, in words

-- +goose Down
ALTER TABLE audit DROP COLUMN about;
DROP TABLE pauses;
