-- +goose NO TRANSACTION
-- +goose Up

-- A column in every table, each in a transaction of its own: a lock on one table is
-- not held while the next waits for running processes.
ALTER TABLE {{schema}}.registry ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.definitions ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.version_jobs ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.processes ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.jobs ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.runs ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.attempts ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.events ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.audit ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
ALTER TABLE {{schema}}.incidents ADD COLUMN IF NOT EXISTS added integer NOT NULL DEFAULT 1;
CREATE TABLE IF NOT EXISTS {{schema}}.added (id bigint PRIMARY KEY);

-- A build that failed leaves an index that is not valid.
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.runs_added;
CREATE INDEX CONCURRENTLY runs_added ON {{schema}}.runs (added, run_id);
