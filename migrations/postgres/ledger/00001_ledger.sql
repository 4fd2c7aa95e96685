-- +goose Up

-- Whose ledger this is: one row, written by the first process.
CREATE TABLE {{schema}}.registry (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    name     text NOT NULL
);

-- Every definition of a job that a process has ever declared.
CREATE TABLE {{schema}}.definitions (
    job_id            text COLLATE "C" NOT NULL,
    hash              text COLLATE "C" NOT NULL,
    body              bytea NOT NULL,
    -- Of the definitions that live processes declare, the latest wins.
    first_declared_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, hash)
);

-- A version is the set of definitions that one build of a registry declares.
CREATE TABLE {{schema}}.version_jobs (
    version text COLLATE "C" NOT NULL,
    job_id  text COLLATE "C" NOT NULL,
    hash    text COLLATE "C" NOT NULL,
    PRIMARY KEY (version, job_id)
);

CREATE TABLE {{schema}}.processes (
    process      text COLLATE "C" PRIMARY KEY,
    version      text COLLATE "C" NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    host         text NOT NULL DEFAULT '',
    program      text NOT NULL DEFAULT '' -- its version
);

-- The position of each job. A transaction that writes runs of a job, or takes its slot,
-- locks the job's row here first, and several rows in the order of their ids.
CREATE TABLE {{schema}}.jobs (
    job_id        text COLLATE "C" PRIMARY KEY,
    revision      bigint NOT NULL,
    hash          text NOT NULL,  -- of the current or last revision's definition
    body          bytea,
    watermark     timestamptz,    -- everything up to here is in runs
    purged_before timestamptz,
    ended_at      timestamptz,
    paused_at     timestamptz,
    paused_by     text NOT NULL DEFAULT '',
    paused_why    text NOT NULL DEFAULT ''
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);

-- One row for each scheduled time, or (until set) for a range of scheduled times
-- that have the same state. Columns that concern a state are NULL or '' outside it.
CREATE TABLE {{schema}}.runs (
    -- It begins with the job's id, "@" and the scheduled time. So the runs of a job are
    -- those from job_id || '@' to job_id || 'A' (A follows @), and in the order
    -- of time: they need no index of their own.
    run_id       text COLLATE "C" PRIMARY KEY,
    job_id       text COLLATE "C" NOT NULL,
    scheduled_at timestamptz NOT NULL,
    until        timestamptz,
    planned_at   timestamptz NOT NULL,
    started_at   timestamptz,
    finished_at  timestamptz,
    acked_at     timestamptz,
    send_before  timestamptz,
    late_at      timestamptz, -- when to look whether it is late; NULL: never
    accepted_at  timestamptz, -- the first 202
    -- Planned, retrying and accepted: not before this; running: the end of the lease.
    due_at       timestamptz,
    leased_at    timestamptz,
    revision     bigint NOT NULL,
    horizon      bigint NOT NULL DEFAULT 0, -- microseconds
    count        bigint NOT NULL DEFAULT 1,
    attempt      integer NOT NULL DEFAULT 0,
    failures     integer NOT NULL DEFAULT 0,
    status       integer NOT NULL DEFAULT 0,
    replayed     boolean NOT NULL DEFAULT false,
    takes_slot   boolean NOT NULL DEFAULT false, -- runs only with its job's slot
    waiting      boolean NOT NULL DEFAULT false, -- for the slot
    slot         text COLLATE "C",               -- the job's id while it has the slot
    waits_for    text,                           -- why it was given back unsent: ledger.WaitReason
    progress     text,                           -- what the target said of it last
    state        text NOT NULL,
    reason       text NOT NULL DEFAULT '',
    trigger      text NOT NULL,
    -- Kept after the lease: by it a repeated record is recognised.
    lease_token  text NOT NULL DEFAULT '',
    leased_by    text NOT NULL DEFAULT '',
    target       text NOT NULL DEFAULT '',
    -- The request, frozen: JSON that the server need not read. The body has a
    -- column of its own: as part of that JSON, its bytes could change.
    call         text,
    body         bytea,
    rerun_id     text NOT NULL DEFAULT '', -- the run that repeats it as new work
    by           text NOT NULL DEFAULT '', -- of the last action; audit has all
    why          text NOT NULL DEFAULT '',
    -- The transaction that changed the run last. The extension of a lease does not
    -- set it: nothing that anybody sees has changed.
    changed      xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- The first attempt, once it is recorded: few runs have another.
    first_started_at  timestamptz,
    first_finished_at timestamptz,
    first_status      integer,
    first_answer      text,
    first_code        text,
    first_error       text,
    first_detail      text,
    first_owner       text,
    -- It begins with the job's id and "@". starts_with says the same, for more than
    -- the rest of a row's checks together: it counts characters.
    CHECK (run_id >= job_id || '@' AND run_id < job_id || 'A'),
    CHECK (CASE WHEN state IN ('planned', 'running', 'retrying', 'accepted') THEN due_at IS NOT NULL AND finished_at IS NULL
        ELSE due_at IS NULL AND finished_at IS NOT NULL END),
    CHECK (slot IS NULL OR (due_at IS NOT NULL AND NOT waiting)),
    CHECK (NOT waiting OR state IN ('planned', 'retrying'))
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE UNIQUE INDEX runs_slot ON {{schema}}.runs (slot) WHERE slot IS NOT NULL;
CREATE INDEX runs_due ON {{schema}}.runs (due_at) WHERE due_at IS NOT NULL AND NOT waiting;
CREATE INDEX runs_waiting ON {{schema}}.runs (job_id, scheduled_at) WHERE waiting;
CREATE INDEX runs_late ON {{schema}}.runs (late_at) WHERE late_at IS NOT NULL AND due_at IS NOT NULL;
-- The runs that were given back for a cause of their target, by the end of their wait:
-- they tell why all other runs of the target wait. Many runs can wait for not_sent,
-- which is the run's own cause. Keep it in step with ledger.WaitReason.OfTarget.
CREATE INDEX runs_held ON {{schema}}.runs (target, due_at, run_id) WHERE due_at IS NOT NULL AND substr(waits_for, 1, 8) <> 'not_sent';
CREATE INDEX runs_unseen ON {{schema}}.runs (scheduled_at, run_id) INCLUDE (job_id) WHERE state = 'dead' AND acked_at IS NULL;
-- The runs that are finished and not succeeded: few, and asked for by state among very
-- many others, of all jobs or of one.
CREATE INDEX runs_exceptions ON {{schema}}.runs (state, scheduled_at, run_id, reason) WHERE state IN ('dead', 'skipped', 'missed', 'superseded', 'canceled');
CREATE INDEX runs_job_exceptions ON {{schema}}.runs (state, run_id, reason) WHERE state IN ('dead', 'skipped', 'missed', 'superseded', 'canceled');
CREATE INDEX runs_settled ON {{schema}}.runs (scheduled_at) WHERE state = 'dead' AND (acked_at IS NOT NULL OR rerun_id <> '');
CREATE INDEX runs_ranges ON {{schema}}.runs (job_id, scheduled_at) WHERE until IS NOT NULL;
-- Listings begin at its end, the purge of old runs at its beginning. Not by id
-- too: a thousand runs of one scheduled time share one index entry.
CREATE INDEX runs_newest ON {{schema}}.runs (scheduled_at);
-- Grows at its end only; the runs of one transaction share one index entry.
CREATE INDEX runs_changed ON {{schema}}.runs (changed);

-- The attempts that a run's row does not hold: those after the first, and those
-- that were lost, the first too.
CREATE TABLE {{schema}}.attempts (
    run_id      text COLLATE "C" NOT NULL,
    n           integer NOT NULL,
    started_at  timestamptz,
    finished_at timestamptz,
    status      integer NOT NULL,
    answer      text NOT NULL,
    code        text NOT NULL,
    error       text NOT NULL,
    detail      text NOT NULL,
    owner       text NOT NULL,
    PRIMARY KEY (run_id, n)
);

-- Events of a job that are neither runs nor acts: gap times, revisions.
CREATE TABLE {{schema}}.events (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id text COLLATE "C" NOT NULL,
    at     timestamptz NOT NULL,
    kind   text NOT NULL,
    local  text NOT NULL DEFAULT '',
    zone   text NOT NULL DEFAULT ''
);
CREATE INDEX events_of_job ON {{schema}}.events (job_id, id);
CREATE INDEX events_at ON {{schema}}.events (at);

-- Every action of an operator, for each run or job that it changed. Rows are added
-- and, past their retention, deleted; never changed.
CREATE TABLE {{schema}}.audit (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL,
    act      text NOT NULL,
    job_id   text COLLATE "C" NOT NULL,
    run_id   text COLLATE "C" NOT NULL DEFAULT '', -- '' for an action on the job
    rerun_id text COLLATE "C" NOT NULL DEFAULT '', -- the new run that a rerun made
    by       text COLLATE "C" NOT NULL,
    why      text NOT NULL,
    via      text NOT NULL,
    request  text COLLATE "C" NOT NULL DEFAULT '' -- names the request; '' where none is repeated
);
CREATE INDEX audit_of_job ON {{schema}}.audit (job_id, id);
CREATE INDEX audit_of_run ON {{schema}}.audit (run_id, id) WHERE run_id <> '';
CREATE INDEX audit_of_rerun ON {{schema}}.audit (rerun_id) WHERE rerun_id <> '';
CREATE INDEX audit_by ON {{schema}}.audit (by, id);
CREATE INDEX audit_of_request ON {{schema}}.audit (request, id) WHERE request <> '';
CREATE INDEX audit_at ON {{schema}}.audit (at);

-- Problems of jobs, open and past; at most one open of a job and a cause. A
-- transaction that writes them has locked the runs before.
CREATE TABLE {{schema}}.incidents (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id    text COLLATE "C" NOT NULL,
    cause     text COLLATE "C" NOT NULL,
    opened_at timestamptz NOT NULL,
    last_at   timestamptz NOT NULL,
    closed_at timestamptz,
    acked_at  timestamptz,
    due_at    timestamptz, -- when the notifier has to look at it
    version   bigint NOT NULL DEFAULT 1,
    count     bigint NOT NULL,
    reopened  bigint NOT NULL DEFAULT 0,
    settled   boolean NOT NULL DEFAULT false, -- closed by an operator
    reason    text NOT NULL, -- of the last problem, as are error, run_id and last_at
    error     text NOT NULL,
    run_id    text NOT NULL,
    closed_by text NOT NULL DEFAULT '',
    acked_by  text NOT NULL DEFAULT '',
    why       text NOT NULL DEFAULT '',
    told      bytea -- the notifier's
);
CREATE UNIQUE INDEX incidents_open ON {{schema}}.incidents (job_id, cause) WHERE closed_at IS NULL;
CREATE INDEX incidents_of_job ON {{schema}}.incidents (job_id, id);
CREATE INDEX incidents_due ON {{schema}}.incidents (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX incidents_closed ON {{schema}}.incidents (closed_at) WHERE closed_at IS NOT NULL;

-- +goose Down
DROP TABLE {{schema}}.incidents, {{schema}}.audit, {{schema}}.events, {{schema}}.attempts, {{schema}}.runs, {{schema}}.jobs,
    {{schema}}.processes, {{schema}}.version_jobs, {{schema}}.definitions, {{schema}}.registry;
