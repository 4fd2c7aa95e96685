-- +goose Up

-- How much slower than four weeks ago each job is, counted once a day: see ledger.Slowdown.
ALTER TABLE {{schema}}.hour_span ADD COLUMN slowdowns text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE {{schema}}.hour_span DROP COLUMN slowdowns;
