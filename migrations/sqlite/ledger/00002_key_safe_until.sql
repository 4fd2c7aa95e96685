-- Until when a run's key is safe at its target, so that the run can be redriven after its
-- send-before time. NULL in the runs of an older release: the send-before time.

-- +goose Up

ALTER TABLE runs ADD COLUMN key_safe_until INTEGER;

-- +goose Down

ALTER TABLE runs DROP COLUMN key_safe_until;
