-- +goose Up

-- How the runs of hours that are over went: see ledger.HourRow. Each hour has a row for
-- every job with runs, and one for all jobs, whose job_id is ''.
CREATE TABLE {{schema}}.hours (
    hour   timestamptz NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    counts text NOT NULL DEFAULT '', -- ledger.Tally, as JSON
    stale  boolean NOT NULL DEFAULT false,
    kept   boolean NOT NULL DEFAULT false,
    PRIMARY KEY (hour, job_id)
);
CREATE INDEX hours_stale ON {{schema}}.hours (hour, job_id) WHERE stale;

-- The hours that are counted: from counted_from to before counted_to.
CREATE TABLE {{schema}}.hour_span (
    only_one     boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    counted_from timestamptz,
    counted_to   timestamptz
);
INSERT INTO {{schema}}.hour_span DEFAULT VALUES;

-- +goose Down
DROP TABLE {{schema}}.hour_span, {{schema}}.hours;
