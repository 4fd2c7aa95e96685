-- The order in which runs are listed. With an index of the scheduled times alone, a page
-- sorts all runs of its times, which are very many after a time at which most jobs are due.

-- +goose Up

CREATE INDEX runs_listed ON runs (scheduled_at, run_id);
DROP INDEX runs_newest;
DROP INDEX runs_dead;
CREATE INDEX runs_dead ON runs (scheduled_at, run_id, job_id) WHERE state = 'dead' AND acked_at IS NULL;

-- +goose Down

DROP INDEX runs_dead;
CREATE INDEX runs_dead ON runs (scheduled_at, job_id) WHERE state = 'dead' AND acked_at IS NULL;
CREATE INDEX runs_newest ON runs (scheduled_at);
DROP INDEX runs_listed;
