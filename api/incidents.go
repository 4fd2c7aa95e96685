package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

type incidentPage struct {
	Incidents []operations.Incident `json:"incidents"`
	Next      string                `json:"next,omitempty"`
}

func (s *server) listIncidents(ctx context.Context, _ *http.Request, q *params) (any, error) {
	f := ledger.IncidentFilter{JobID: q.text("job"), Open: q.flag("open"), Limit: q.count("limit", operations.DefaultPage, operations.MaxPage)}
	if p := q.cursor("incidents"); p != nil {
		f.Before = p.At
	}
	if q.err != nil {
		return nil, q.err
	}
	page, err := s.ops.Incidents(ctx, f)
	answer := incidentPage{Incidents: page.Incidents}
	if page.Next != 0 {
		answer.Next = position{List: "incidents", At: page.Next}.String()
	}
	return answer, err
}

func (s *server) getIncident(ctx context.Context, r *http.Request, _ *params) (any, error) {
	id, err := incidentID(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return s.ops.Incident(ctx, id)
}

func (s *server) ackIncident(ctx context.Context, a *actRequest) (any, error) {
	id, err := incidentID(a.id)
	if err != nil {
		return nil, err
	}
	return s.ops.AckIncident(ctx, ledger.IncidentAction{ID: id, Close: a.Close, Actor: a.actor})
}

func incidentID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, invalid("invalid incident ID; an ID must be an integer of at least 1")
	}
	return id, nil
}
