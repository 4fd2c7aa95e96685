-- How many backfilled runs of a job run at a time: see ledger.Pace. 0: the run takes its job's slot.
-- slot is the run's own ID while it has a place.

-- +goose Up

ALTER TABLE runs ADD COLUMN pace INTEGER NOT NULL DEFAULT 0;
DROP INDEX runs_waiting;
CREATE INDEX runs_waiting ON runs (job_id, pace, scheduled_at, state) WHERE waiting = 1;

-- +goose Down
DROP INDEX runs_waiting;
CREATE INDEX runs_waiting ON runs (job_id, scheduled_at, state) WHERE waiting = 1;
ALTER TABLE runs DROP COLUMN pace;
