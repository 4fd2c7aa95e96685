package operations

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Delivery is a notification, or a ping of a job's heartbeat. Both are runs of jobs that the registry makes, so the
// ledger knows whether they arrived.
type Delivery struct {
	RunID   string       `json:"runId"`
	JobID   string       `json:"jobId"` // notify-CHANNEL or heartbeat-JOB
	Event   string       `json:"event"` // opened, reminded, recovered; start, success, fail, log
	State   ledger.State `json:"state"` // succeeded: it arrived
	At      string       `json:"at"`    // when it was written
	Arrived string       `json:"arrived,omitempty"`
	Calls   int          `json:"attempts"`
}

// Words says whether it arrived.
func (d Delivery) Words() string {
	switch {
	case d.State == ledger.Succeeded:
		return "arrived"
	case d.State.Finished():
		return "not delivered (" + string(d.State) + ")"
	case d.Calls == 0:
		return "not sent yet"
	}
	return "not delivered yet"
}

// deliveriesOf lists the deliveries that the ledger still has, oldest first: they are purged as other
// runs are. The end of such a run's ID is the event that it tells of.
func (s *Service) deliveriesOf(ctx context.Context, runIDs []string) ([]Delivery, error) {
	if len(runIDs) == 0 {
		return nil, nil
	}
	runs, err := s.ledger.List(ctx, ledger.Filter{IDs: runIDs, Limit: len(runIDs)})
	var list []Delivery
	slices.SortFunc(runs, func(a, b ledger.Run) int {
		return cmp.Or(a.PlannedAt.Compare(b.PlannedAt), a.ScheduledAt.Compare(b.ScheduledAt))
	})
	for _, r := range runs {
		d := Delivery{
			RunID: r.ID, JobID: r.JobID, Event: r.ID[strings.LastIndexByte(r.ID, '-')+1:], State: r.State, At: actualTime(r.PlannedAt),
			Calls: r.Attempt,
		}
		if r.State == ledger.Succeeded {
			d.Arrived = actualTime(r.FinishedAt)
		}
		list = append(list, d)
	}
	return list, err
}

// Notified lists the last notifications of incidents, by incident.
func (s *Service) Notified(ctx context.Context, incidents ...ledger.Incident) (map[int64][]Delivery, error) {
	byRun := map[string][]int64{}
	for _, i := range incidents {
		states, err := i.ChannelStates()
		if err != nil {
			continue // the notifier says so
		}
		for _, c := range states {
			for _, id := range c.Runs {
				byRun[id] = append(byRun[id], i.ID)
			}
		}
	}
	list, err := s.deliveriesOf(ctx, slices.Sorted(maps.Keys(byRun)))
	byIncident := map[int64][]Delivery{}
	for _, d := range list {
		for _, i := range byRun[d.RunID] {
			byIncident[i] = append(byIncident[i], d)
		}
	}
	return byIncident, err
}

// RunDeliveries lists the pings of a run, and the notifications of the incidents whose last
// problem it is.
func (s *Service) RunDeliveries(ctx context.Context, r ledger.Run) ([]Delivery, error) {
	var ids []string
	if reg, err := s.registry(); err == nil {
		if j, found := reg.Job(r.JobID); found && r.Call.Heartbeat && !r.StartedAt.IsZero() {
			ids = append(ids, pingRuns(j, r)...)
		}
	}
	list, err := s.ledger.Incidents(ctx, ledger.IncidentFilter{JobID: r.JobID, Limit: DefaultPage})
	if err != nil {
		return nil, err
	}
	for _, i := range list {
		states, err := i.ChannelStates()
		if i.RunID != r.ID || err != nil {
			continue
		}
		for _, c := range states {
			ids = append(ids, c.Runs...)
		}
	}
	return s.deliveriesOf(ctx, ids)
}

// pingRuns returns the IDs of the runs that may ping the job's heartbeat for a run. The notifier makes
// one of success, fail and log at the end. All are looked up, so that its rule is in one place.
func pingRuns(j jobs.Job, r ledger.Run) []string {
	ids := []string{j.PingRunID(r.ID, "start", r.StartedAt)}
	if !r.FinishedAt.IsZero() {
		for _, kind := range []string{"success", "fail", "log"} {
			ids = append(ids, j.PingRunID(r.ID, kind, r.FinishedAt))
		}
	}
	return ids
}
