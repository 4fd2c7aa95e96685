-- Runs with members: see ledger.Each. Statement by statement, each repeatable.

-- +goose NO TRANSACTION
-- +goose Up

-- The frozen lists. A member has a run once there was room for it.
CREATE TABLE IF NOT EXISTS {{schema}}.members (
    parent text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL, -- <job>::<member>@<scheduled time>
    key    text NOT NULL,             -- as the list has it
    PRIMARY KEY (parent, run_id)
);

-- A member's job_id is <job>::<member>, and parent the run ID of its parent. fan is ledger.Fan, of a parent.
ALTER TABLE {{schema}}.runs ADD COLUMN IF NOT EXISTS parent text COLLATE "C", ADD COLUMN IF NOT EXISTS fan text;

-- One more state is unfinished. NOT VALID: the rows that exist satisfy the former condition.
ALTER TABLE {{schema}}.runs DROP CONSTRAINT IF EXISTS runs_check1, DROP CONSTRAINT IF EXISTS runs_unfinished,
    ADD CONSTRAINT runs_unfinished CHECK (CASE WHEN state IN ('planned', 'running', 'retrying', 'accepted', 'fanned_out')
        THEN due_at IS NOT NULL AND finished_at IS NULL ELSE due_at IS NULL AND finished_at IS NOT NULL END) NOT VALID;

-- The members of a parent that have not succeeded: what is counted, listed and acted on.
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_members ON {{schema}}.runs (parent, state, run_id) WHERE parent IS NOT NULL AND state <> 'succeeded';

-- The indexes of lists, without members, in place of those with them: the programs of a version before find runs more slowly.
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_top ON {{schema}}.runs (scheduled_at, run_id) WHERE parent IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_top_exceptions ON {{schema}}.runs (state, scheduled_at, run_id, reason)
    WHERE state IN ('dead', 'skipped', 'missed', 'superseded', 'canceled') AND parent IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_top_unseen ON {{schema}}.runs (scheduled_at, run_id) INCLUDE (job_id)
    WHERE state = 'dead' AND acked_at IS NULL AND parent IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_listed;
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_exceptions;
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_unseen;

-- +goose Down

CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_unseen ON {{schema}}.runs (scheduled_at, run_id) INCLUDE (job_id) WHERE state = 'dead' AND acked_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_exceptions ON {{schema}}.runs (state, scheduled_at, run_id, reason)
    WHERE state IN ('dead', 'skipped', 'missed', 'superseded', 'canceled');
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_listed ON {{schema}}.runs (scheduled_at, run_id);

DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_top_unseen;
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_top_exceptions;
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_top;
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_members;
ALTER TABLE {{schema}}.runs DROP COLUMN IF EXISTS parent, DROP COLUMN IF EXISTS fan;
DROP TABLE IF EXISTS {{schema}}.members;
