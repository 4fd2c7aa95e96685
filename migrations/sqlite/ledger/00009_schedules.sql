-- Schedules that were made at run time: see ledger.Schedule.

-- +goose Up

CREATE TABLE schedule_templates (
  id             INTEGER PRIMARY KEY,
  name           TEXT    NOT NULL UNIQUE,
  live           INTEGER NOT NULL DEFAULT 0,  -- schedules that have neither ended nor been deleted
  purged_through INTEGER,                     -- of runs
  swept          TEXT    NOT NULL DEFAULT ''  -- the definition for which each next_at is early enough
) STRICT;

-- What the caller said. The planner only reads it.
CREATE TABLE schedules (
  id         INTEGER PRIMARY KEY,
  job_id     TEXT    NOT NULL UNIQUE,         -- of the template, ":" and the key
  generation INTEGER NOT NULL,
  expr       TEXT    NOT NULL,
  timezone   TEXT    NOT NULL,
  dst        TEXT    NOT NULL,
  data       BLOB,
  until      INTEGER,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  changed_by TEXT    NOT NULL,
  deleted_at INTEGER,
  paused_by  TEXT    NOT NULL DEFAULT '',
  paused_why TEXT    NOT NULL DEFAULT ''
) STRICT;

-- Where each schedule stands: narrow, as it is rewritten at each scheduled time. next_at
-- may be early, and is never late.
CREATE TABLE positions (
  id        INTEGER PRIMARY KEY,
  template  INTEGER NOT NULL,
  revision  INTEGER NOT NULL,
  watermark INTEGER NOT NULL,
  next_at   INTEGER,
  paused_at INTEGER,
  ended_at  INTEGER
) STRICT;

CREATE INDEX positions_next ON positions (template, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX positions_ended ON positions (ended_at) WHERE ended_at IS NOT NULL;

-- +goose Down
DROP TABLE positions;
DROP TABLE schedules;
DROP TABLE schedule_templates;
