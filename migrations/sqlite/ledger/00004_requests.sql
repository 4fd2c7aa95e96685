-- Operators' requests in the audit: a repetition of one is answered from its row.

-- +goose Up

-- How many runs or jobs the action changed; 0 in the row of one of several runs, whose
-- action has a row for each job, and in that of an action that changed nothing.
ALTER TABLE audit ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
ALTER TABLE audit ADD COLUMN series TEXT NOT NULL DEFAULT '';      -- of the requests that are one action
ALTER TABLE audit ADD COLUMN principal TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN request_key TEXT;                     -- NULL: the request is not repeated
ALTER TABLE audit ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''; -- of what is asked
ALTER TABLE audit ADD COLUMN answer BLOB;

CREATE UNIQUE INDEX audit_key ON audit (principal, request_key) WHERE request_key IS NOT NULL;
-- What lists show, among very many rows that they do not.
CREATE INDEX audit_listed ON audit (id) WHERE count > 0;
CREATE INDEX audit_listed_job ON audit (job_id, id) WHERE count > 0;
CREATE INDEX audit_listed_by ON audit (by, id) WHERE count > 0;
CREATE INDEX audit_series ON audit (series, id) WHERE series <> '';

-- The column request, its index and the table api_keys are of the version before: its
-- processes use them beside those of this one. A request that both get is done by each.
-- The next release drops them.

-- +goose Down
DROP INDEX audit_series;
DROP INDEX audit_listed_by;
DROP INDEX audit_listed_job;
DROP INDEX audit_listed;
DROP INDEX audit_key;
ALTER TABLE audit DROP COLUMN answer;
ALTER TABLE audit DROP COLUMN fingerprint;
ALTER TABLE audit DROP COLUMN request_key;
ALTER TABLE audit DROP COLUMN principal;
ALTER TABLE audit DROP COLUMN series;
ALTER TABLE audit DROP COLUMN count;
