package operations

import (
	"context"
	"maps"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/jobs/retention"
	"github.com/cronce/cronce/ledger"
)

// Status is the state of the system: processes, unfinished runs, and what needs attention.
type Status struct {
	Registry   string               `json:"registry"`
	At         string               `json:"at"`
	Serving    bool                 `json:"serving"` // a process is alive
	Processes  []Process            `json:"processes"`
	Unfinished map[ledger.State]int `json:"unfinished"` // runs by unfinished state
	Dead       int                  `json:"deadUnacknowledged"`
	Incidents  int                  `json:"openIncidents"`
	Attention  Attention            `json:"attention"` // the dead ones by cause
	// OldestDue is how long the oldest due run has been waiting, in seconds.
	OldestDue float64 `json:"oldestDueSeconds"`
	// Ahead is how far the ledger's latest watermark is ahead of its clock, in seconds;
	// 0 unless the clock was set back.
	Ahead float64     `json:"aheadSeconds"`
	Clock string      `json:"clock,omitempty"` // the same as a sentence
	Purge PurgeStatus `json:"purge"`
}

// PurgeStatus says when the nightly purge last succeeded, and whether the next success is overdue.
type PurgeStatus struct {
	LastSuccess string `json:"lastSuccess,omitempty"`
	Overdue     bool   `json:"overdue"`
}

// Process is an executor that works, or worked, on the ledger.
type Process struct {
	ID          string `json:"id"`      // random
	Host        string `json:"host"`    // its machine's name, as it says itself
	Program     string `json:"program"` // its version of cronce
	Version     string `json:"version"` // of the definitions that it declares
	HeartbeatAt string `json:"heartbeatAt"`
	Alive       bool   `json:"alive"`
	Definitions int    `json:"definitions"`
	Running     int    `json:"running"`
}

// statusAge is the maximum age of an answer of Processes and Status. Their cost grows with the unfinished runs, and
// monitors ask often.
const statusAge = time.Second

// Processes lists who works on the ledger, up to a second ago.
func (s *Service) Processes(ctx context.Context) ([]Process, error) {
	list, err := s.processes.get(ctx, "", statusAge, s.ledger.Processes)
	return processesOf(list), err
}

func processesOf(list []ledger.Process) []Process {
	out := []Process{}
	for _, p := range list {
		out = append(out, Process{p.ID, p.Host, p.Program, p.Version, actualTime(p.HeartbeatAt), p.Alive, p.Definitions, p.Running})
	}
	return out
}

// Status tells how the ledger is being worked on, up to a second ago.
func (s *Service) Status(ctx context.Context) (Status, error) {
	return s.system.get(ctx, "", statusAge, s.lookAtSystem)
}

// lookAtSystem reads the state of the system, as Status returns it. Without a registry it leaves out the name and the
// purge.
func (s *Service) lookAtSystem(ctx context.Context) (Status, error) {
	v := Status{At: actualTime(s.now())}
	processes, err := s.ledger.Processes(ctx)
	if err != nil {
		return v, err
	}
	v.Processes = processesOf(processes)
	for _, p := range v.Processes {
		v.Serving = v.Serving || p.Alive
	}
	counts, err := s.ledger.Counts(ctx)
	if err != nil {
		return v, err
	}
	v.Unfinished, v.Dead, v.Incidents = map[ledger.State]int{}, counts.DeadUnacknowledged, counts.Incidents
	maps.Copy(v.Unfinished, counts.Unfinished)
	if v.Attention, err = s.attention(ctx, counts.DeadUnacknowledged); err != nil {
		return v, err
	}
	if !counts.OldestDue.IsZero() {
		v.OldestDue = max(0, counts.Now.Sub(counts.OldestDue).Seconds())
	}
	v.Ahead, v.Clock = counts.Ahead().Seconds(), ledger.AheadText(counts.PlannedThrough, counts.Now)
	reg, err := s.registry()
	if err != nil {
		return v, nil // what is in the ledger can be asked without it
	}
	v.Registry = reg.Name()
	w := cleanup.NewPurgeMonitor(cleanup.PurgeMonitorConfig{Registry: reg, Runs: s.ledger, Now: s.now})
	last, overdue, err := w.State(ctx)
	v.Purge = PurgeStatus{actualTime(last), overdue}
	return v, err
}

// Target is a target of the registry. Its address and credentials are not shown.
type Target struct {
	Name        string `json:"name"`
	Auth        string `json:"auth"`
	Jobs        int    `json:"jobs"` // enabled ones
	MaxInFlight int    `json:"maxInFlight,omitempty"`
	// Breaker is the state of its circuit breaker in the process that answers:
	// closed, half-open or open; empty in a process that makes no calls.
	Breaker string `json:"breaker,omitempty"`
}

// Targets lists the registry's targets by name.
func (s *Service) Targets() ([]Target, error) {
	reg, err := s.registry()
	if err != nil {
		return nil, err
	}
	breakers := map[string]string{}
	if s.breakers != nil {
		breakers = s.breakers()
	}
	uses := map[string]int{}
	for j := range reg.JobsAndTemplates() {
		if !j.Disabled {
			uses[j.Target]++
		}
	}
	out := []Target{}
	for _, t := range reg.Targets() {
		out = append(out, Target{Name: t.Name, Auth: string(t.Auth.Type), Jobs: uses[t.Name], MaxInFlight: t.MaxInFlight,
			Breaker: breakers[t.Name]})
	}
	return out, nil
}

// KeyRetention is the retention proof of one job: TTL > Horizon + Skew.
type KeyRetention struct {
	JobID    string  `json:"jobId"`
	KeyScope string  `json:"keyScope"`
	Rule     string  `json:"rule"` // the keyTTLs scope that the TTL is from; empty: the default
	TTL      float64 `json:"ttlSeconds"`
	Horizon  float64 `json:"horizonSeconds"`
	Skew     float64 `json:"skewSeconds"`
	Holds    bool    `json:"holds"`
}

// Keys lists the retention proof of every job that calls a target, by id.
func (s *Service) Keys() ([]KeyRetention, error) {
	reg, err := s.registry()
	if err != nil {
		return nil, err
	}
	out := []KeyRetention{}
	for _, p := range retention.Proofs(reg) {
		out = append(out, KeyRetention{p.JobID, p.KeyScope, p.Pattern, p.TTL.Seconds(), p.Horizon.Seconds(), p.Skew.Seconds(), p.Holds()})
	}
	return out, nil
}
