-- Operators' requests in the audit: a repetition of one is answered from its row. One
-- transaction, as it locks one small table.

-- +goose Up
ALTER TABLE {{schema}}.audit
    -- How many runs or jobs the action changed; 0 in the row of one of several runs, whose
    -- action has a row for each job, and in that of an action that changed nothing.
    ADD COLUMN count bigint NOT NULL DEFAULT 1,
    ADD COLUMN series text COLLATE "C" NOT NULL DEFAULT '', -- of the requests that are one action
    ADD COLUMN principal text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN request_key text COLLATE "C", -- NULL: the request is not repeated
    ADD COLUMN fingerprint text NOT NULL DEFAULT '', -- of what is asked
    ADD COLUMN answer bytea;
CREATE UNIQUE INDEX audit_key ON {{schema}}.audit (principal, request_key) WHERE request_key IS NOT NULL;
-- What lists show, among very many rows that they do not.
CREATE INDEX audit_listed ON {{schema}}.audit (id) WHERE count > 0;
CREATE INDEX audit_listed_job ON {{schema}}.audit (job_id, id) WHERE count > 0;
CREATE INDEX audit_listed_by ON {{schema}}.audit (by, id) WHERE count > 0;
CREATE INDEX audit_series ON {{schema}}.audit (series, id) WHERE series <> '';

-- The column request, its index and the table api_keys are of the version before: its
-- processes use them beside those of this one. A request that both get is done by each.
-- The next release drops them.

-- +goose Down
DROP INDEX {{schema}}.audit_key, {{schema}}.audit_series, {{schema}}.audit_listed, {{schema}}.audit_listed_job, {{schema}}.audit_listed_by;
ALTER TABLE {{schema}}.audit
    DROP COLUMN count, DROP COLUMN series, DROP COLUMN principal, DROP COLUMN request_key, DROP COLUMN fingerprint, DROP COLUMN answer;
