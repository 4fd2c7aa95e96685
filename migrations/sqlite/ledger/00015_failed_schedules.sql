-- When each schedule was last counted in the incident of those that cannot be planned: see
-- ledger.ScheduleRow.

-- +goose Up
ALTER TABLE positions ADD COLUMN failed_at INTEGER;

-- +goose Down
ALTER TABLE positions DROP COLUMN failed_at;
