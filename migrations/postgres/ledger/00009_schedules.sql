-- Schedules that were made at run time: see ledger.Schedule.

-- +goose Up
CREATE TABLE {{schema}}.schedule_templates (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           text COLLATE "C" NOT NULL UNIQUE,
    live           bigint NOT NULL DEFAULT 0, -- schedules that have neither ended nor been deleted
    purged_through timestamptz,               -- of runs
    swept          text NOT NULL DEFAULT ''   -- the definition for which each next_at is early enough
) WITH (fillfactor = 10);

-- What the caller said. The planner only reads it.
CREATE TABLE {{schema}}.schedules (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id     text COLLATE "C" NOT NULL UNIQUE, -- of the template, ":" and the key
    generation bigint NOT NULL,
    until      timestamptz,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    deleted_at timestamptz,
    expr       text NOT NULL,
    timezone   text NOT NULL,
    dst        text NOT NULL,
    changed_by text NOT NULL,
    paused_by  text NOT NULL DEFAULT '',
    paused_why text NOT NULL DEFAULT '',
    data       bytea
);

-- Where each schedule stands: narrow, as it is rewritten at each scheduled time. next_at
-- may be early, and is never late.
CREATE TABLE {{schema}}.positions (
    id        bigint PRIMARY KEY,
    template  bigint NOT NULL,
    revision  bigint NOT NULL,
    watermark timestamptz NOT NULL,
    next_at   timestamptz,
    paused_at timestamptz,
    ended_at  timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX positions_next ON {{schema}}.positions (template, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX positions_ended ON {{schema}}.positions (ended_at) WHERE ended_at IS NOT NULL;

-- +goose Down
DROP TABLE {{schema}}.positions, {{schema}}.schedules, {{schema}}.schedule_templates;
