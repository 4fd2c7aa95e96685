-- Runs with members: see ledger.Each.

-- +goose Up

-- The frozen lists. A member has a run once there was room for it.
CREATE TABLE members (
  parent TEXT NOT NULL,
  run_id TEXT NOT NULL, -- <job>::<member>@<scheduled time>
  key    TEXT NOT NULL, -- as the list has it
  PRIMARY KEY (parent, run_id)
) STRICT, WITHOUT ROWID;

-- A member's job_id is <job>::<member>, and parent the run ID of its parent. fan is ledger.Fan, of a parent.
ALTER TABLE runs ADD COLUMN parent TEXT;
ALTER TABLE runs ADD COLUMN fan TEXT;

-- The members of a parent that have not succeeded: what is counted, listed and acted on.
CREATE INDEX runs_members ON runs (parent, state, run_id) WHERE parent IS NOT NULL AND state <> 'succeeded';

-- The indexes of lists, without members.
DROP INDEX runs_listed;
DROP INDEX runs_exceptions;
DROP INDEX runs_dead;
CREATE INDEX runs_exceptions ON runs (state, scheduled_at, run_id, reason) WHERE due_at IS NULL AND state <> 'succeeded' AND parent IS NULL;
CREATE INDEX runs_dead ON runs (scheduled_at, job_id, parent) WHERE state = 'dead' AND acked_at IS NULL;
CREATE INDEX runs_listed ON runs (scheduled_at, run_id) WHERE parent IS NULL;

-- +goose Down
DROP INDEX runs_dead;
DROP INDEX runs_exceptions;
DROP INDEX runs_listed;
DROP INDEX runs_members;
ALTER TABLE runs DROP COLUMN fan;
ALTER TABLE runs DROP COLUMN parent;
CREATE INDEX runs_listed ON runs (scheduled_at, run_id);
CREATE INDEX runs_exceptions ON runs (state, scheduled_at, run_id, reason) WHERE due_at IS NULL AND state <> 'succeeded';
CREATE INDEX runs_dead ON runs (scheduled_at, job_id) WHERE state = 'dead' AND acked_at IS NULL;
DROP TABLE members;
