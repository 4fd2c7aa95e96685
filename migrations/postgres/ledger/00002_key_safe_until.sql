-- Until when a run's key is safe at its target, so that the run can be redriven after its
-- send-before time. NULL in the runs of an older release: the send-before time.

-- +goose NO TRANSACTION
-- +goose Up

ALTER TABLE {{schema}}.runs ADD COLUMN IF NOT EXISTS key_safe_until timestamptz;

-- +goose Down

ALTER TABLE {{schema}}.runs DROP COLUMN IF EXISTS key_safe_until;
