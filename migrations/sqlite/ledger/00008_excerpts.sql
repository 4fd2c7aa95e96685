-- +goose Up

-- What failing answers said, of targets whose registry has it kept: see ledger.Excerpt.
CREATE TABLE excerpts (
  run_id     TEXT    NOT NULL,
  n          INTEGER NOT NULL, -- the attempt
  text       TEXT    NOT NULL,
  keep_until INTEGER NOT NULL,
  PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX excerpts_until ON excerpts (keep_until);

-- +goose Down
DROP TABLE excerpts;
