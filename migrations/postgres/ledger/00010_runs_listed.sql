-- The order in which runs are listed. With an index of the scheduled times alone, a page
-- sorts all runs of its times, which are very many after a time at which most jobs are due.

-- +goose NO TRANSACTION
-- +goose Up

DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_listed; -- one whose building was interrupted
CREATE INDEX CONCURRENTLY runs_listed ON {{schema}}.runs (scheduled_at, run_id);
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_newest;

-- +goose Down

CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_newest ON {{schema}}.runs (scheduled_at);
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_listed;
