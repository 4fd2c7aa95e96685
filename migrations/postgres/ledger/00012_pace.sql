-- How many backfilled runs of a job run at a time: see ledger.Pace. Statement by statement, each repeatable.

-- +goose NO TRANSACTION
-- +goose Up

-- 0: the run takes its job's slot. slot is the run's own ID while it has a place.
ALTER TABLE {{schema}}.runs ADD COLUMN IF NOT EXISTS pace integer NOT NULL DEFAULT 0;

DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_paced; -- one whose building was interrupted
CREATE INDEX CONCURRENTLY runs_paced ON {{schema}}.runs (job_id, pace, scheduled_at) WHERE waiting;
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_waiting;

-- +goose Down

CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_waiting ON {{schema}}.runs (job_id, scheduled_at) WHERE waiting;
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_paced;
ALTER TABLE {{schema}}.runs DROP COLUMN IF EXISTS pace;
