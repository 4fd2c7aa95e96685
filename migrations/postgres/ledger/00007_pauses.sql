-- Pauses with an end, of many jobs, and holds of targets.

-- +goose Up
CREATE TABLE {{schema}}.pauses (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL, -- ledger.PauseKind
    selector text NOT NULL, -- ledger.Selector, JSON
    from_at timestamptz NOT NULL,
    until_at timestamptz NOT NULL, -- exclusive
    by text NOT NULL,
    why text NOT NULL,
    created_at timestamptz NOT NULL,
    ended_at timestamptz -- NULL: it lasts, or nobody noted its end
);
-- Every admission and claim reads them.
CREATE INDEX pauses_open ON {{schema}}.pauses (id) WHERE ended_at IS NULL;
CREATE INDEX pauses_until ON {{schema}}.pauses (until_at);
ALTER TABLE {{schema}}.audit ADD COLUMN about text NOT NULL DEFAULT ''; -- a pause, in words

-- +goose Down
ALTER TABLE {{schema}}.audit DROP COLUMN about;
DROP TABLE {{schema}}.pauses;
