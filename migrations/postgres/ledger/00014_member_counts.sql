-- How many members of each parent failed. Kept by triggers, as an index is: a program of a version
-- before counts too.

-- +goose Up

-- A session counts in rows of its own, so that no transaction waits for another one.
CREATE TABLE {{schema}}.member_counts (
    parent  text COLLATE "C" NOT NULL,
    state   text NOT NULL,
    acked   boolean NOT NULL,
    rerun   boolean NOT NULL,
    session integer NOT NULL, -- pg_backend_pid()
    count   bigint NOT NULL,
    PRIMARY KEY (parent, state, acked, rerun, session)
) WITH (fillfactor = 50);

-- +goose StatementBegin
CREATE FUNCTION {{schema}}.count_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'succeeded' AND OLD.due_at IS NULL THEN
        INSERT INTO {{schema}}.member_counts AS c VALUES (OLD.parent, OLD.state, OLD.acked_at IS NOT NULL, OLD.rerun_id <> '', pg_backend_pid(), -1)
        ON CONFLICT (parent, state, acked, rerun, session) DO UPDATE SET count = c.count - 1;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state <> 'succeeded' AND NEW.due_at IS NULL THEN
        INSERT INTO {{schema}}.member_counts AS c VALUES (NEW.parent, NEW.state, NEW.acked_at IS NOT NULL, NEW.rerun_id <> '', pg_backend_pid(), 1)
        ON CONFLICT (parent, state, acked, rerun, session) DO UPDATE SET count = c.count + 1;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION {{schema}}.forget_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM {{schema}}.member_counts WHERE parent = OLD.run_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- From here on to the commit no run is written, so that the first counts are exact. A member is
-- unfinished when it is inserted.
CREATE TRIGGER member_changed AFTER UPDATE OF state, acked_at, rerun_id ON {{schema}}.runs
    FOR EACH ROW WHEN (OLD.parent IS NOT NULL
        AND (OLD.state <> 'succeeded' AND OLD.due_at IS NULL OR NEW.state <> 'succeeded' AND NEW.due_at IS NULL)) EXECUTE FUNCTION {{schema}}.count_member();
CREATE TRIGGER member_deleted AFTER DELETE ON {{schema}}.runs
    FOR EACH ROW WHEN (OLD.parent IS NOT NULL AND OLD.state <> 'succeeded' AND OLD.due_at IS NULL) EXECUTE FUNCTION {{schema}}.count_member();
CREATE TRIGGER parent_deleted AFTER DELETE ON {{schema}}.runs
    FOR EACH ROW WHEN (OLD.fan IS NOT NULL) EXECUTE FUNCTION {{schema}}.forget_members();

INSERT INTO {{schema}}.member_counts (parent, state, acked, rerun, session, count)
    SELECT parent, state, acked_at IS NOT NULL, rerun_id <> '', 0, count(*) FROM {{schema}}.runs
    WHERE parent IS NOT NULL AND state <> 'succeeded' AND due_at IS NULL GROUP BY 1, 2, 3, 4;

-- +goose Down
DROP TRIGGER parent_deleted ON {{schema}}.runs;
DROP TRIGGER member_deleted ON {{schema}}.runs;
DROP TRIGGER member_changed ON {{schema}}.runs;
DROP FUNCTION {{schema}}.forget_members(), {{schema}}.count_member();
DROP TABLE {{schema}}.member_counts;
