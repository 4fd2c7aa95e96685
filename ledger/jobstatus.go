package ledger

import (
	"context"
	"math"
	"slices"
	"time"
)

// outcomes are the states that are a job's last outcome.
var outcomes = []State{Succeeded, Dead}

// Jobs lists every job that the ledger has a row of, ended ones too, by ID. With IDs, it
// lists only those jobs.
func (l *Ledger) Jobs(ctx context.Context, ids ...string) ([]JobStatus, error) {
	return read(ctx, l, "list jobs", func(tx Tx) ([]JobStatus, error) {
		m := jobListing{tx: tx}
		if err := m.readJobs(ids); err != nil {
			return nil, err
		}
		unseen, err := m.unseen.Get()
		if err != nil {
			return nil, err
		}
		bodies, err := m.bodies.Get()
		if err != nil {
			return nil, err
		}
		list := make([]JobStatus, len(m.jobs))
		for i, j := range m.jobs {
			list[i] = JobStatus{
				Position: j.Position, Ended: !j.EndedAt.IsZero(), PausedAt: j.PausedAt, PausedBy: j.PausedBy, PausedWhy: j.PausedWhy,
				PurgedThrough: j.PurgedThrough, DeadUnacknowledged: unseen[j.JobID],
			}
			if !list[i].Ended {
				list[i].Body = bodies[j.JobID]
			}
		}
		return list, m.addRuns(list)
	})
}

// JobStates lists the jobs that Jobs lists, in that order. It costs a small part of Jobs:
// nearly always it reads one row of each job.
func (l *Ledger) JobStates(ctx context.Context) ([]JobState, error) {
	return read(ctx, l, "list jobs", func(tx Tx) ([]JobState, error) {
		m := jobListing{tx: tx, brief: true}
		if err := m.readJobs(nil); err != nil {
			return nil, err
		}
		var list []JobState
		for _, j := range m.jobs {
			failing := m.outcome[j.JobID].State == Dead
			list = append(list, JobState{JobID: j.JobID, Ended: !j.EndedAt.IsZero(), Watermark: j.Watermark, PausedAt: j.PausedAt, Failing: failing})
		}
		return list, nil
	})
}

// jobListing is a listing of jobs in progress.
type jobListing struct {
	tx     Tx
	brief  bool
	jobs   []JobRow
	slots  Later[[]Slot]
	unseen Later[map[string]int]
	bodies Later[map[string][]byte]
	// last is each job's newest run, and outcome its newest in one of outcomes.
	last, outcome map[string]RunSummary
}

// readJobs reads the jobs, all without IDs, and which are their last runs.
func (m *jobListing) readJobs(ids []string) (err error) {
	var asked Later[[]JobRow]
	if len(ids) > 0 {
		ids = sortedSet(ids)
		asked = m.tx.Jobs(ids)
	} else {
		asked = m.tx.JobsAfter("", math.MaxInt32)
		if m.jobs, err = asked.Get(); err != nil {
			return err
		}
		for i := range m.jobs {
			ids = append(ids, m.jobs[i].JobID)
		}
	}
	last := m.tx.Last(ids, nil, 1)
	if !m.brief {
		m.slots, m.unseen, m.bodies = m.tx.Slots(ids), m.tx.CountUnseen(ids), m.tx.JobBodies(ids)
	}
	if m.jobs, err = asked.Get(); err != nil {
		return err
	}
	if m.last, err = summaries(last); err != nil {
		return err
	}
	// Nearly always a job's last run is its last outcome.
	m.outcome = make(map[string]RunSummary, len(m.last))
	var others []string
	for id, r := range m.last {
		if m.outcome[id] = r; !slices.Contains(outcomes, r.State) {
			delete(m.outcome, id)
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return nil
	}
	older, err := summaries(m.tx.Last(sortedSet(others), outcomes, OutcomeWindow))
	for id, r := range older {
		m.outcome[id] = r
	}
	return err
}

func summaries(asked Later[[]RunSummary]) (map[string]RunSummary, error) {
	list, err := asked.Get()
	byJob := make(map[string]RunSummary, len(list))
	for _, r := range list {
		byJob[jobOf(r.RunID)] = r
	}
	return byJob, err
}

// addRuns adds to the jobs their last runs, the runs that have their slots, and since when
// they have been failing.
func (m *jobListing) addRuns(list []JobStatus) error {
	slots, err := m.slots.Get()
	if err != nil {
		return err
	}
	holders := make(map[string]string, len(slots))
	var runIDs, failing []string
	for _, s := range slots {
		holders[s.JobID] = s.Holder.ID
		runIDs = append(runIDs, s.Holder.ID)
	}
	for id, r := range m.last {
		outcome := m.outcome[id]
		runIDs = append(runIDs, r.RunID, outcome.RunID)
		if outcome.State == Dead {
			failing = append(failing, id)
		}
	}
	if len(runIDs) == 0 { // without IDs, all would be read
		return nil
	}
	asked := m.tx.Runs(Filter{IDs: sortedSet(runIDs)})
	askedStreaks := m.tx.Streaks(sortedSet(failing), Dead, Succeeded, OutcomeWindow)
	rows, err := asked.Get()
	if err != nil {
		return err
	}
	byID := make(map[string]*Row, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	run := func(id string) *Run {
		r := byID[id]
		if r == nil {
			return nil
		}
		run := r.listed()
		return &run
	}
	streaks, err := askedStreaks.Get()
	for i := range list {
		j := &list[i]
		j.LastRun, j.LastOutcome, j.SlotRun = run(m.last[j.JobID].RunID), run(m.outcome[j.JobID].RunID), run(holders[j.JobID])
		s := streaks[j.JobID]
		j.FailingSince, j.FailingEarlier = s.Since, !s.Ended && s.Rows == OutcomeWindow
	}
	return err
}

// Streak is how long a job's runs have ended in one state.
type Streak struct {
	Since time.Time // ScheduledAt of the first
	Ended bool      // the rows that were looked at have a run in the other state
	Rows  int       // how many rows were looked at
}
