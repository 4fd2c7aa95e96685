-- +goose Up

-- How the runs of hours that are over went: see ledger.HourRow. Each hour has a row for
-- every job with runs, and one for all jobs, whose job_id is ''.
CREATE TABLE hours (
  hour   INTEGER NOT NULL,
  job_id TEXT    NOT NULL,
  counts TEXT    NOT NULL DEFAULT '',         -- ledger.Tally, as JSON
  stale  INTEGER NOT NULL DEFAULT 0,
  kept   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, job_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX hours_stale ON hours (hour, job_id) WHERE stale = 1;

-- The hours that are counted: from counted_from to before counted_to.
CREATE TABLE hour_span (
  one          INTEGER PRIMARY KEY CHECK (one = 1),
  counted_from INTEGER,
  counted_to   INTEGER
) STRICT;
INSERT INTO hour_span (one) VALUES (1);

-- +goose Down
DROP TABLE hour_span;
DROP TABLE hours;
