-- How many members of each parent failed. Kept by triggers, as an index is: a program of a version
-- before counts too.

-- +goose Up

CREATE TABLE member_counts (
  parent TEXT    NOT NULL,
  state  TEXT    NOT NULL,
  acked  INTEGER NOT NULL,
  rerun  INTEGER NOT NULL,
  count  INTEGER NOT NULL,
  PRIMARY KEY (parent, state, acked, rerun)
) STRICT, WITHOUT ROWID;

INSERT INTO member_counts (parent, state, acked, rerun, count)
  SELECT parent, state, acked_at IS NOT NULL, rerun_id <> '', count(*) FROM runs
  WHERE parent IS NOT NULL AND state <> 'succeeded' AND due_at IS NULL GROUP BY 1, 2, 3, 4;

-- A member is unfinished when it is inserted. One trigger for both: each costs every update of a run.
-- +goose StatementBegin
CREATE TRIGGER member_changed AFTER UPDATE OF state, acked_at, rerun_id ON runs
WHEN new.parent IS NOT NULL AND (old.state <> 'succeeded' AND old.due_at IS NULL OR new.state <> 'succeeded' AND new.due_at IS NULL)
BEGIN
  UPDATE member_counts SET count = count - 1
    WHERE old.state <> 'succeeded' AND old.due_at IS NULL
      AND parent = old.parent AND state = old.state AND acked = (old.acked_at IS NOT NULL) AND rerun = (old.rerun_id <> '');
  INSERT INTO member_counts (parent, state, acked, rerun, count)
    SELECT new.parent, new.state, new.acked_at IS NOT NULL, new.rerun_id <> '', 1 WHERE new.state <> 'succeeded' AND new.due_at IS NULL
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER member_deleted AFTER DELETE ON runs WHEN old.parent IS NOT NULL AND old.state <> 'succeeded' AND old.due_at IS NULL
BEGIN
  UPDATE member_counts SET count = count - 1
    WHERE parent = old.parent AND state = old.state AND acked = (old.acked_at IS NOT NULL) AND rerun = (old.rerun_id <> '');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER parent_deleted AFTER DELETE ON runs WHEN old.fan IS NOT NULL
BEGIN
  DELETE FROM member_counts WHERE parent = old.run_id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER parent_deleted;
DROP TRIGGER member_deleted;
DROP TRIGGER member_changed;
DROP TABLE member_counts;
