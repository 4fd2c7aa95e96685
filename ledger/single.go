package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Single is a ledger of one run, in memory: for a process that makes one run's calls
// without a database. It knows no other run, job or process. The first Enter gives it
// its run.
type Single struct {
	// Now is the clock. Required.
	Now func() time.Time
	// FirstSent returns the time from which the run's horizon counts; nil: its first
	// lease. Several processes that know nothing of each other have to count from a time
	// that they share.
	FirstSent func(e Entry, lease time.Time) time.Time

	mu       sync.Mutex
	row      Row // without an ID: none
	attempts []Attempt
}

// errSingle is the error of what a Single cannot do. It serves executor.Execute, which enters one
// run and works on it: Enter, Claim, LeasedWork, Extend, Record and Get.
var errSingle = errors.New("a ledger of a single run has no jobs and no processes")

func (s *Single) now() time.Time {
	return s.Now().UTC().Truncate(time.Microsecond)
}

// Enter writes the run, and leases it if asked to. See Entry.
func (s *Single) Enter(_ context.Context, e Entry) (Entered, error) {
	if err := e.Validate(); err != nil {
		return Entered{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	got := Entered{Now: s.now(), Inserted: s.row.ID == ""}
	if got.Inserted {
		s.row = newRow(e.RunSpec, JobRow{Position: Position{JobID: e.JobID}}, nil, got.Now)
		s.row.By, s.row.Why = e.By, e.Why
		if s.FirstSent != nil {
			s.row.start(got.Now, s.FirstSent(e, got.Now))
		}
		if e.Lease && s.row.startable(got.Now) {
			s.row.lease(e.Process, e.Token, got.Now, e.LeaseFor)
		}
	}
	if s.row.ID != e.RunID {
		return got, fmt.Errorf("%w: this ledger has run %s already", ErrInvalidRun, s.row.ID)
	}
	if s.row.State == Running && s.row.Token == e.Token && e.Token != "" {
		work := s.row.work()
		got.Work = &work
	}
	got.Run = s.row.Visible()
	return got, nil
}

// Claim leases the run if it is due, as ClaimRequest describes.
func (s *Single) Claim(_ context.Context, c ClaimRequest) (Claimed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := Claimed{Now: s.now()}
	due := s.row.ID != "" && !s.row.DueAt().IsZero() && !s.row.DueAt().After(got.Now)
	if due && c.Limit > 0 && (len(c.Only) == 0 || slices.Contains(c.Only, s.row.ID)) {
		row := s.row
		if err := s.apply(takeDue(&row, c, got.Now)); err != nil {
			return got, err
		}
		if s.row.State == Running {
			got.Work = []Work{s.row.work()}
		} else {
			got.PastSendBefore = []Run{s.row.Visible()}
		}
	}
	if s.row.DueAt().After(got.Now) {
		got.NextAt = s.row.DueAt()
	}
	return got, nil
}

// apply makes a change of the run, which passes the same check of moves as in a Ledger.
func (s *Single) apply(c RowChange) error {
	if err := checkMoves([]RowChange{c}); err != nil {
		return err
	}
	c.Apply(&s.row)
	if c.Attempt != nil {
		a := *c.Attempt
		a.RunID = s.row.ID
		s.attempts = append(s.attempts, a)
	}
	return nil
}

// holds reports whether the run is leased under a lease.
func (s *Single) holds(l Lease) bool {
	return s.row.State == Running && s.row.ID == l.RunID && s.row.Token == l.Token && l.Token != ""
}

// LeasedWork returns the run if it is leased under the token.
func (s *Single) LeasedWork(_ context.Context, token string) ([]Work, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.holds(Lease{RunID: s.row.ID, Token: token}) {
		return nil, nil
	}
	return []Work{s.row.work()}, nil
}

// Extend moves the end of the run's lease.
func (s *Single) Extend(_ context.Context, leases []Lease, d time.Duration) (lost []Lease, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range leases {
		if s.holds(l) {
			s.row.SetDueAt(s.now().Add(microsecond(d)))
		} else {
			lost = append(lost, l)
		}
	}
	return lost, nil
}

// Record writes the outcomes of the run's attempts.
func (s *Single) Record(_ context.Context, outcomes []Outcome) ([]RecordResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]RecordResult, len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case s.holds(o.Lease):
			row := s.row
			c, err := o.change(&row, s.now())
			if err == nil {
				err = s.apply(c)
			}
			if err != nil {
				return nil, err
			}
			results[i] = Recorded
		case s.row.ID == o.RunID && s.row.Token == o.Token && o.Token != "":
			results[i] = Recorded // before
		default:
			results[i] = Fenced
		}
	}
	return results, nil
}

// Get returns the run and its attempts.
func (s *Single) Get(_ context.Context, runID string) (Run, []Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.row.ID == "" || s.row.ID != runID {
		return Run{}, nil, fmt.Errorf("run %q: %w", runID, ErrNotFound)
	}
	return s.row.Visible(), slices.Clone(s.attempts), nil
}

// Declare returns an error, as do the other methods of schedules and processes.
func (s *Single) Declare(context.Context, Declaration) error { return errSingle }

// Heartbeat returns an error.
func (s *Single) Heartbeat(context.Context, string) (HeartbeatReply, error) {
	return HeartbeatReply{}, errSingle
}

// Deregister returns an error.
func (s *Single) Deregister(context.Context, string) error { return errSingle }

// Assignments returns an error.
func (s *Single) Assignments(context.Context, string, string) ([]JobAssignment, error) {
	return nil, errSingle
}

// Admit returns an error.
func (s *Single) Admit(context.Context, Admission) (Admitted, error) { return Admitted{}, errSingle }

// PlanSchedules returns an error: there are no schedules.
func (s *Single) PlanSchedules(context.Context, SchedulePlanning) (PlannedSchedules, error) {
	return PlannedSchedules{}, errSingle
}

// SweepSchedules returns an error: there are no schedules.
func (s *Single) SweepSchedules(context.Context, ScheduleSweep) (int64, error) { return 0, errSingle }

// FreezeMembers returns an error.
func (s *Single) FreezeMembers(context.Context, Freeze) (RecordResult, error) { return "", errSingle }

// ReleaseMembers returns an error.
func (s *Single) ReleaseMembers(context.Context, ReleaseRequest) (Released, error) {
	return Released{}, errSingle
}
