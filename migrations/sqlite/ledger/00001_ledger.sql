-- The ledger: what became of each job's scheduled times. Times are integer
-- microseconds since the Unix epoch, UTC; a NULL time means "not yet".

-- +goose Up

-- The one registry that this ledger belongs to.
CREATE TABLE registry (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  name TEXT NOT NULL
) STRICT;

-- Every definition of a job that a process ever declared. first_declared
-- orders them: a sequence, so that a clock that jumps back cannot reorder it.
CREATE TABLE definitions (
  first_declared    INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id            TEXT    NOT NULL,
  hash              TEXT    NOT NULL,
  first_declared_at INTEGER NOT NULL,
  body              BLOB    NOT NULL,
  UNIQUE (job_id, hash)
) STRICT;

-- A version is a set of definitions. No foreign key: to delete a definition
-- would look through all versions.
CREATE TABLE version_jobs (
  version    TEXT    NOT NULL,
  definition INTEGER NOT NULL,
  PRIMARY KEY (version, definition)
) STRICT, WITHOUT ROWID;

-- A process is living until its last heartbeat is older than the TTL.
CREATE TABLE processes (
  process TEXT    NOT NULL PRIMARY KEY,
  version TEXT    NOT NULL,
  beat_at INTEGER NOT NULL,
  host    TEXT    NOT NULL,
  program TEXT    NOT NULL                     -- its version
) STRICT, WITHOUT ROWID;

-- The position of each job. An admission rewrites its jobs' rows, so they are small;
-- the definition of the current revision is in job_bodies.
CREATE TABLE jobs (
  job_id        TEXT    NOT NULL PRIMARY KEY,
  revision      INTEGER NOT NULL,
  hash          TEXT    NOT NULL,             -- of the current revision; '' when the job has ended
  watermark     INTEGER,                      -- NULL: never had a revision
  purged_before INTEGER,
  ended_at      INTEGER,
  paused_at     INTEGER,
  paused_by     TEXT    NOT NULL DEFAULT '',
  paused_why    TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_paused ON jobs (job_id) WHERE paused_at IS NOT NULL;

CREATE TABLE job_bodies (
  job_id TEXT NOT NULL PRIMARY KEY REFERENCES jobs (job_id),
  body   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  id           INTEGER PRIMARY KEY,
  -- It begins with the job's id, "@" and the scheduled time. So the runs of a job are
  -- those from job_id || '@' to job_id || 'A' (A follows @), and in the order of
  -- time: they need no index of their own.
  run_id       TEXT    NOT NULL UNIQUE,
  job_id       TEXT    NOT NULL,
  scheduled_at INTEGER NOT NULL,
  until        INTEGER,                       -- a range's last scheduled time
  count        INTEGER NOT NULL,
  trigger      TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  revision     INTEGER NOT NULL,
  overlap      TEXT    NOT NULL,              -- '' when the run takes no slot
  -- The request, frozen. The body has a column of its own: as part of the JSON in call,
  -- its bytes could change.
  target       TEXT    NOT NULL DEFAULT '',
  call         TEXT,
  body         BLOB,
  attempt      INTEGER NOT NULL DEFAULT 0,
  failures     INTEGER NOT NULL DEFAULT 0,
  replayed     INTEGER NOT NULL DEFAULT 0,
  status       INTEGER NOT NULL DEFAULT 0,
  -- When somebody has to look at the run again: a planned, retrying or accepted run's
  -- next time, a running one's end of lease. NULL: finished.
  due_at       INTEGER,
  slot         TEXT,                          -- its job's id while it holds the job's slot
  waiting      INTEGER NOT NULL DEFAULT 0,    -- for the slot
  waits_for    TEXT,                          -- why it was given back unsent: ledger.WaitReason
  send_before  INTEGER,
  accepted_at  INTEGER,                       -- the first 202
  progress     TEXT,                          -- what the target said of it last
  lease_token  TEXT,                          -- kept until the next lease: a repeated record is known by it
  leased_by    TEXT    NOT NULL DEFAULT '',
  leased_at    INTEGER,
  planned_at   INTEGER NOT NULL,
  started_at   INTEGER,
  finished_at  INTEGER,
  acked_at     INTEGER,
  late_at      INTEGER,                       -- when to look whether it is late; NULL: never
  rerun_id     TEXT    NOT NULL DEFAULT '',   -- the run that repeats it as new work
  by           TEXT    NOT NULL DEFAULT '',   -- of the last action; audit has all
  why          TEXT    NOT NULL DEFAULT '',
  -- Where the run's last change stands among all changes of runs. The extension of
  -- a lease is none: nothing that anybody sees has changed.
  changed      INTEGER NOT NULL,
  -- The first attempt, once it is recorded: few runs have another.
  first_started_at  INTEGER,
  first_finished_at INTEGER,
  first_answer      TEXT,
  first_status      INTEGER,
  first_code        TEXT,
  first_error       TEXT,
  first_detail      TEXT,
  first_owner       TEXT,
  CHECK (substr(run_id, 1, length(job_id) + 1) = job_id || '@')
) STRICT;

-- Claims and expired leases, in one order; what a claim must know to pass a
-- run over stands in the index.
CREATE INDEX runs_due ON runs (due_at, state, target, job_id) WHERE due_at IS NOT NULL AND waiting = 0;
CREATE UNIQUE INDEX runs_slot ON runs (slot) WHERE slot IS NOT NULL;
CREATE INDEX runs_waiting ON runs (job_id, scheduled_at, state) WHERE waiting = 1;
-- Listings begin at its end, the purge of old runs at its beginning.
CREATE INDEX runs_newest ON runs (scheduled_at);
CREATE INDEX runs_changed ON runs (changed);
CREATE INDEX runs_ranges ON runs (job_id, scheduled_at) WHERE until IS NOT NULL;
CREATE INDEX runs_late ON runs (late_at) WHERE late_at IS NOT NULL AND due_at IS NOT NULL;
-- The runs that were given back for a cause of their target, by the end of their wait:
-- they tell why all other runs of the target wait. Many runs can wait for not_sent,
-- which is the run's own cause. Keep it in step with ledger.WaitReason.OfTarget.
CREATE INDEX runs_held ON runs (target, due_at, run_id) WHERE due_at IS NOT NULL AND substr(waits_for, 1, 8) <> 'not_sent';
CREATE INDEX runs_dead ON runs (scheduled_at, job_id) WHERE state = 'dead' AND acked_at IS NULL;
-- The runs that are finished and not succeeded: few, and asked for by state among very
-- many others, of all jobs or of one. A query has this condition word for word. For a
-- list of states, SQLite would build a table in each statement that writes a run.
CREATE INDEX runs_exceptions ON runs (state, scheduled_at, run_id, reason) WHERE due_at IS NULL AND state <> 'succeeded';
CREATE INDEX runs_job_exceptions ON runs (state, run_id, reason) WHERE due_at IS NULL AND state <> 'succeeded';
CREATE INDEX runs_settled ON runs (scheduled_at) WHERE state = 'dead' AND (acked_at IS NOT NULL OR rerun_id <> '');

-- The last change before the last purge, so that no position is given twice: the
-- run that changed last may be gone.
CREATE TABLE purged_changes (
  position INTEGER NOT NULL
) STRICT;
INSERT INTO purged_changes (position) VALUES (0);

-- The attempts that a run's row does not hold: those after the first, and those
-- that were lost, the first too. By the run's row and not by its run-id: what is recorded together then lies
-- together, instead of on a page of each job.
CREATE TABLE attempts (
  run         INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  n           INTEGER NOT NULL,
  started_at  INTEGER,
  finished_at INTEGER,
  answer      TEXT    NOT NULL,
  status      INTEGER NOT NULL,
  code        TEXT    NOT NULL,
  error       TEXT    NOT NULL,
  detail      TEXT    NOT NULL,
  owner       TEXT    NOT NULL,
  PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

-- Events of a job that are neither runs nor acts: gap times, revisions.
CREATE TABLE events (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT    NOT NULL,
  at     INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  local  TEXT    NOT NULL,
  zone   TEXT    NOT NULL
) STRICT;

CREATE INDEX events_job ON events (job_id, id);
CREATE INDEX events_at ON events (at);

-- Every action of an operator, for each run or job that it changed. Rows are added
-- and, past their retention, deleted; never changed.
CREATE TABLE audit (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  act      TEXT    NOT NULL,
  job_id   TEXT    NOT NULL,
  run_id   TEXT    NOT NULL,                  -- '' for an action on the job
  rerun_id TEXT    NOT NULL,                  -- the new run that a rerun made
  by       TEXT    NOT NULL,
  why      TEXT    NOT NULL,
  via      TEXT    NOT NULL,
  request  TEXT    NOT NULL                   -- names the request; '' where none is repeated
) STRICT;

CREATE INDEX audit_job ON audit (job_id, id);
CREATE INDEX audit_run ON audit (run_id, id) WHERE run_id <> '';
CREATE INDEX audit_rerun ON audit (rerun_id) WHERE rerun_id <> '';
CREATE INDEX audit_by ON audit (by, id);
CREATE INDEX audit_request ON audit (request, id) WHERE request <> '';
CREATE INDEX audit_at ON audit (at);

-- Problems of jobs, open and past; at most one open of a job and a cause.
CREATE TABLE incidents (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id    TEXT    NOT NULL,
  cause     TEXT    NOT NULL,
  reason    TEXT    NOT NULL,                 -- of the last problem, as are error, run_id and last_at
  error     TEXT    NOT NULL,
  run_id    TEXT    NOT NULL,
  count     INTEGER NOT NULL,
  reopened  INTEGER NOT NULL DEFAULT 0,
  opened_at INTEGER NOT NULL,
  last_at   INTEGER NOT NULL,
  closed_at INTEGER,
  closed_by TEXT    NOT NULL DEFAULT '',
  settled   INTEGER NOT NULL DEFAULT 0,       -- closed by an operator
  acked_at  INTEGER,
  acked_by  TEXT    NOT NULL DEFAULT '',
  why       TEXT    NOT NULL DEFAULT '',
  version   INTEGER NOT NULL DEFAULT 1,
  told      BLOB,                             -- the notifier's
  due_at    INTEGER                           -- when the notifier has to look at it
) STRICT;

CREATE UNIQUE INDEX incidents_open ON incidents (job_id, cause) WHERE closed_at IS NULL;
CREATE INDEX incidents_job ON incidents (job_id, id);
CREATE INDEX incidents_due ON incidents (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL;

-- +goose Down
DROP TABLE incidents;
DROP TABLE audit;
DROP TABLE events;
DROP TABLE attempts;
DROP TABLE purged_changes;
DROP TABLE runs;
DROP TABLE job_bodies;
DROP TABLE jobs;
DROP TABLE processes;
DROP TABLE version_jobs;
DROP TABLE definitions;
DROP TABLE registry;
