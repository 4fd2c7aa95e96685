-- +goose Up

-- How much slower than four weeks ago each job is, counted once a day: see ledger.Slowdown.
ALTER TABLE hour_span ADD COLUMN slowdowns TEXT NOT NULL DEFAULT '';

-- The rows of a job lie together, as its page reads 90 days of them.
CREATE TABLE hours_by_job (
  hour   INTEGER NOT NULL,
  job_id TEXT    NOT NULL,
  counts TEXT    NOT NULL DEFAULT '',         -- ledger.Tally, as JSON
  stale  INTEGER NOT NULL DEFAULT 0,
  kept   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (job_id, hour)
) STRICT, WITHOUT ROWID;
INSERT INTO hours_by_job SELECT hour, job_id, counts, stale, kept FROM hours ORDER BY job_id, hour;
DROP TABLE hours;
ALTER TABLE hours_by_job RENAME TO hours;
CREATE INDEX hours_by_time ON hours (hour, job_id);
CREATE INDEX hours_stale ON hours (hour, job_id) WHERE stale = 1;

-- +goose Down

CREATE TABLE hours_by_time (
  hour   INTEGER NOT NULL,
  job_id TEXT    NOT NULL,
  counts TEXT    NOT NULL DEFAULT '',
  stale  INTEGER NOT NULL DEFAULT 0,
  kept   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, job_id)
) STRICT, WITHOUT ROWID;
INSERT INTO hours_by_time SELECT hour, job_id, counts, stale, kept FROM hours;
DROP TABLE hours;
ALTER TABLE hours_by_time RENAME TO hours;
CREATE INDEX hours_stale ON hours (hour, job_id) WHERE stale = 1;
ALTER TABLE hour_span DROP COLUMN slowdowns;
