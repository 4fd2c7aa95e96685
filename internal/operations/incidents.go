package operations

import (
	"context"
	"errors"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// Incident is an open or past problem of a job.
type Incident struct {
	ID       int64                `json:"id"`
	JobID    string               `json:"jobId"`
	Cause    ledger.IncidentCause `json:"cause"`
	Reason   ledger.Reason        `json:"reason,omitempty"` // of the last problem
	Error    string               `json:"error,omitempty"`  // of its last attempt
	RunID    string               `json:"runId,omitempty"`  // the last problem's
	Count    int                  `json:"count"`
	Reopened int                  `json:"reopened"`
	Open     bool                 `json:"open"`
	OpenedAt string               `json:"openedAt"`
	LastAt   string               `json:"lastAt"`
	ClosedAt string               `json:"closedAt,omitempty"`
	ClosedBy string               `json:"closedBy,omitempty"` // a run, or an operator
	AckedAt  string               `json:"ackedAt,omitempty"`
	AckedBy  string               `json:"ackedBy,omitempty"`
	Why      string               `json:"why,omitempty"`
	// Notified are its last notifications, oldest first; of one incident that is shown.
	Notified []Delivery `json:"notified,omitempty"`
}

// State returns "open", "acknowledged" or "closed".
func (i Incident) State() string {
	switch {
	case !i.Open:
		return "closed"
	case i.AckedAt != "":
		return "acknowledged"
	}
	return "open"
}

func incidentOf(i ledger.Incident) Incident {
	return Incident{
		ID: i.ID, JobID: i.JobID, Cause: i.Cause, Reason: i.Reason, Error: i.Error, RunID: i.RunID, Count: i.Count, Reopened: i.Reopened,
		Open:     i.Open(),
		OpenedAt: actualTime(i.OpenedAt), LastAt: actualTime(i.LastAt), ClosedAt: actualTime(i.ClosedAt), ClosedBy: i.ClosedBy,
		AckedAt: actualTime(i.AckedAt), AckedBy: i.AckedBy, Why: i.Why,
	}
}

// IncidentPage is a page of incidents, newest first.
type IncidentPage struct {
	Incidents []Incident
	Next      int64 // the Before of the next page; 0: there is none
}

// Incidents lists a page of the incidents of selected jobs.
func (s *Service) Incidents(ctx context.Context, sel Selection, f ledger.IncidentFilter) (IncidentPage, error) {
	page := IncidentPage{Incidents: []Incident{}}
	ids, templates, err := s.Select(ctx, sel)
	if err != nil {
		return page, err
	}
	f.JobIDs, f.WithSchedules = ids, templates
	f.Limit = f.PageSize()
	list, err := s.ledger.Incidents(ctx, f)
	for _, i := range list {
		page.Incidents = append(page.Incidents, incidentOf(i))
	}
	if len(list) == f.Limit {
		page.Next = list[len(list)-1].ID
	}
	return page, err
}

// Incident shows one incident.
func (s *Service) Incident(ctx context.Context, id int64) (Incident, error) {
	list, err := s.ledger.Incidents(ctx, ledger.IncidentFilter{ID: id})
	if err != nil {
		return Incident{}, err
	}
	if len(list) == 0 || id == 0 {
		return Incident{}, unknownIncident(id)
	}
	i := incidentOf(list[0])
	notified, err := s.Notified(ctx, list[0])
	i.Notified = notified[id]
	return i, err
}

// AckIncident acknowledges an open incident, so that it asks for no attention, or closes it.
func (s *Service) AckIncident(ctx context.Context, a ledger.IncidentAction) (Incident, error) {
	if err := checkActor(a.Actor); err != nil {
		return Incident{}, err
	}
	keep(a.Actor, func(i ledger.Incident) (any, error) { return incidentOf(i), nil })
	i, err := s.ledger.AckIncident(ctx, a)
	if errors.Is(err, ledger.ErrNotFound) {
		return Incident{}, unknownIncident(a.ID)
	}
	return incidentOf(i), err
}

func unknownIncident(id int64) error {
	return refuse(UnknownIncident, `unknown incident %d; "cronce incidents list --closed --all" lists those that the ledger keeps`, id)
}

// JobIncident is an open incident of a job, in a list of jobs.
type JobIncident struct {
	ID           int64                `json:"id"`
	Cause        ledger.IncidentCause `json:"cause"`
	Since        string               `json:"since"`
	Acknowledged bool                 `json:"acknowledged"`
}

// jobIncidents returns the open incidents of a job, the newest first.
func jobIncidents(open []ledger.Incident) []JobIncident {
	list := []JobIncident{}
	for _, i := range slices.Backward(open) {
		list = append(list, JobIncident{i.ID, i.Cause, actualTime(i.OpenedAt), !i.AckedAt.IsZero()})
	}
	return list
}
