package ledger

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"
)

// JobStatus is one job's row. Jobs lists those of the jobs that are asked for, by ID, or of
// every job that the ledger has a row of, ended ones too.
type JobStatus struct {
	Position
	Ended bool
	// PausedAt, who and why of the pause that holds; zero: not paused.
	PausedAt  time.Time
	PausedBy  string
	PausedWhy string
	// PurgedThrough is the latest scheduled time of which a run was purged. No scheduled
	// time at or before it is admitted or entered; runs with ~ are.
	PurgedThrough time.Time
	LastRun       *Run // the newest by ScheduledAt that is not a range; nil when none
	SlotRun       *Run // the unfinished run that has the job's slot; nil when it is free

	// The results of the job's runs, from its newest OutcomeWindow rows, ranges not
	// counted.
	LastOutcome        *Run      // the newest run that is succeeded or dead; nil when none
	FailingSince       time.Time // where that is dead: the first dead run after the last success; else zero
	FailingEarlier     bool      // FailingSince is a bound, as none of these rows is a success
	DeadUnacknowledged int       // all of its unacknowledged dead runs

	Incidents []Incident // its open ones, by ID
}

// JobState is the part of a job's row that a list of very many jobs needs. Its
// fields mean what they mean in a JobStatus. JobStates lists them by job ID, at a small part
// of the cost of Jobs: nearly always it reads one row of each job.
type JobState struct {
	JobID     string
	Ended     bool
	Watermark time.Time
	PausedAt  time.Time
	Failing   bool // FailingSince is set
}

// State returns the part of a JobStatus that a list needs.
func (s JobStatus) State() JobState {
	return JobState{JobID: s.JobID, Ended: s.Ended, Watermark: s.Watermark, PausedAt: s.PausedAt, Failing: !s.FailingSince.IsZero()}
}

// OutcomeWindow bounds how many rows of a job are read for its last outcome and
// for how long it has been failing.
const OutcomeWindow = 1000

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
		unacknowledged, err := m.unacknowledged.Get()
		if err != nil {
			return nil, err
		}
		open, err := m.open.Get()
		if err != nil {
			return nil, err
		}
		incidents := map[string][]Incident{}
		for _, i := range open {
			incidents[i.JobID] = append(incidents[i.JobID], i)
		}
		list := make([]JobStatus, len(m.jobs))
		for i, j := range m.jobs {
			list[i] = JobStatus{
				Position: j.Position, Ended: !j.EndedAt.IsZero(), PausedAt: j.PausedAt, PausedBy: j.PausedBy, PausedWhy: j.PausedWhy,
				PurgedThrough: j.PurgedThrough, DeadUnacknowledged: unacknowledged[j.JobID], Incidents: incidents[j.JobID],
			}
		}
		return list, m.addRuns(list)
	})
}

// JobBodies returns the definitions of the current revisions of jobs, by job. An ended job
// has none.
func (l *Ledger) JobBodies(ctx context.Context, ids ...string) (map[string][]byte, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return read(ctx, l, "definitions of jobs", func(tx Tx) (map[string][]byte, error) { return tx.JobBodies(sortedSet(ids)).Get() })
}

// JobStates lists the jobs that Jobs lists, in that order. It costs a small part of Jobs:
// nearly always it reads one row of each job.
func (l *Ledger) JobStates(ctx context.Context) ([]JobState, error) {
	return read(ctx, l, "list jobs", func(tx Tx) ([]JobState, error) {
		jobs, err := tx.JobsAndNewest().Get()
		if err != nil {
			return nil, err
		}
		list := make([]JobState, len(jobs))
		place := map[string]int{}
		for i, j := range jobs {
			list[i] = JobState{JobID: j.JobID, Ended: !j.EndedAt.IsZero(), Watermark: j.Watermark, PausedAt: j.PausedAt, Failing: j.Newest == Dead}
			if j.Newest != "" && !slices.Contains(outcomes, j.Newest) {
				place[j.JobID] = i
			}
		}
		if len(place) == 0 {
			return list, nil
		}
		older, err := tx.Last(slices.Sorted(maps.Keys(place)), outcomes, OutcomeWindow).Get()
		for i := range older {
			list[place[older[i].JobID]].Failing = older[i].State == Dead
		}
		return list, err
	})
}

// JobAndNewest is the part of a job that JobStates needs, with the state of its newest run; "" for none.
type JobAndNewest struct {
	JobID                        string
	Watermark, EndedAt, PausedAt time.Time
	Newest                       State
}

// jobListing has the results of a listing: the jobs, their newest runs, and futures of the rest.
type jobListing struct {
	tx             Tx
	jobs           []JobRow
	slots          Future[[]Slot]
	unacknowledged Future[map[string]int]
	open           Future[[]Incident]
	// last is each job's newest run, and outcome its newest in one of outcomes.
	last, outcome map[string]*Row
}

// readJobs reads the jobs, all without IDs, and their last runs.
func (m *jobListing) readJobs(ids []string) (err error) {
	var jobsFuture Future[[]JobRow]
	if len(ids) > 0 {
		ids = sortedSet(ids)
		jobsFuture = m.tx.LockJobs(ids)
	} else {
		jobsFuture = m.tx.JobsAfter("", math.MaxInt32)
		if m.jobs, err = jobsFuture.Get(); err != nil {
			return err
		}
		for i := range m.jobs {
			ids = append(ids, m.jobs[i].JobID)
		}
	}
	lastFuture := m.tx.Last(ids, nil, 1)
	m.slots, m.unacknowledged, m.open = m.tx.Slots(ids), m.tx.CountUnacknowledged(ids), m.tx.OpenIncidents("", ids)
	if m.jobs, err = jobsFuture.Get(); err != nil {
		return err
	}
	if err := m.pauseByTemplates(); err != nil {
		return err
	}
	if m.last, err = rowsByJob(lastFuture); err != nil {
		return err
	}
	return m.readOutcomes()
}

// pauseByTemplates pauses the schedules among the jobs whose templates are paused.
func (m *jobListing) pauseByTemplates() error {
	schedules := map[string][]int{}
	for i := range m.jobs {
		if name := TemplateOf(m.jobs[i].JobID); name != "" && m.jobs[i].PausedAt.IsZero() {
			schedules[name] = append(schedules[name], i)
		}
	}
	if len(schedules) == 0 {
		return nil
	}
	templates, err := m.tx.Jobs(slices.Sorted(maps.Keys(schedules))).Get()
	for _, t := range templates {
		for _, i := range schedules[t.JobID] {
			j := &m.jobs[i]
			j.PausedAt, j.PausedBy, j.PausedWhy = t.PausedAt, t.PausedBy, t.PausedWhy
		}
	}
	return err
}

// readOutcomes reads the jobs' last outcomes: nearly always a job's last run is its last outcome.
func (m *jobListing) readOutcomes() error {
	m.outcome = maps.Clone(m.last)
	var others []string
	for id, r := range m.last {
		if !slices.Contains(outcomes, r.State) {
			delete(m.outcome, id)
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return nil
	}
	older, err := rowsByJob(m.tx.Last(sortedSet(others), outcomes, OutcomeWindow))
	maps.Copy(m.outcome, older)
	return err
}

func rowsByJob(rowsFuture Future[[]Row]) (map[string]*Row, error) {
	list, err := rowsFuture.Get()
	rows := make(map[string]*Row, len(list))
	for i := range list {
		rows[list[i].JobID] = &list[i]
	}
	return rows, err
}

// addRuns adds to the jobs their last runs, the runs that have their slots, and since when
// they have been failing.
func (m *jobListing) addRuns(list []JobStatus) error {
	holders, err := m.holders()
	if err != nil {
		return err
	}
	var failing []string
	for id, r := range m.outcome {
		if r.State == Dead {
			failing = append(failing, id)
		}
	}
	var streaks map[string]Streak
	if len(failing) > 0 {
		if streaks, err = m.tx.Streaks(sortedSet(failing), Dead, Succeeded, OutcomeWindow).Get(); err != nil {
			return err
		}
	}
	for i := range list {
		j := &list[i]
		last := m.last[j.JobID]
		j.LastRun = listedOrNil(last)
		j.LastOutcome, j.SlotRun = j.LastRun, j.LastRun // nearly always
		if r := m.outcome[j.JobID]; r != last {
			j.LastOutcome = listedOrNil(r)
		}
		if r := holders[j.JobID]; r != last {
			j.SlotRun = listedOrNil(r)
		}
		s := streaks[j.JobID]
		j.FailingSince, j.FailingEarlier = s.Since, !s.Ended && s.Rows == OutcomeWindow
	}
	return nil
}

// holders returns the runs that have the slots of the jobs, by job.
func (m *jobListing) holders() (map[string]*Row, error) {
	slots, err := m.slots.Get()
	if err != nil {
		return nil, err
	}
	holders, others := map[string]*Row{}, []string(nil)
	for _, s := range slots {
		if last := m.last[s.JobID]; last != nil && last.ID == s.Holder.ID {
			holders[s.JobID] = last
		} else if s.Holder.ID != "" {
			others = append(others, s.Holder.ID)
		}
	}
	if len(others) == 0 { // without IDs, all would be read
		return holders, nil
	}
	older, err := rowsByJob(m.tx.Runs(Filter{IDs: sortedSet(others)}))
	maps.Copy(holders, older)
	return holders, err
}

func listedOrNil(r *Row) *Run {
	if r == nil {
		return nil
	}
	run := r.listed()
	return &run
}

// Streak is the time for which a job's runs have ended in one state.
type Streak struct {
	Since time.Time // ScheduledAt of the first
	Ended bool      // the rows that were read have a run in the other state
	Rows  int       // number of rows newer than that run; without one, of all rows that were read
}
