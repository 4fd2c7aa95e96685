-- When each schedule was last counted in the incident of those that cannot be planned: see
-- ledger.ScheduleRow.

-- +goose Up
ALTER TABLE {{schema}}.positions ADD COLUMN failed_at timestamptz;

-- +goose Down
ALTER TABLE {{schema}}.positions DROP COLUMN failed_at;
