-- What failing answers said, of targets whose registry has it kept: see ledger.Excerpt.

-- +goose Up
CREATE TABLE {{schema}}.excerpts (
    run_id     text COLLATE "C" NOT NULL,
    n          bigint NOT NULL, -- the attempt
    text       text NOT NULL,
    keep_until timestamptz NOT NULL,
    PRIMARY KEY (run_id, n)
);
CREATE INDEX excerpts_until ON {{schema}}.excerpts (keep_until);

-- +goose Down
DROP TABLE {{schema}}.excerpts;
