package api

import (
	"context"
	"net/http"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

type incidentPage struct {
	Incidents []operations.Incident `json:"incidents"`
	Next      string                `json:"next,omitempty"`
}

func (s *server) listIncidents(ctx context.Context, _ *http.Request, q *params) (any, error) {
	f := ledger.IncidentFilter{Open: q.flag("open"), Limit: q.count("limit", operations.DefaultPage, operations.MaxPage),
		Before: q.cursor("incidents").At}
	if q.err != nil {
		return nil, q.err
	}
	page, err := s.ops.Incidents(ctx, q.selection(), f)
	answer := incidentPage{Incidents: page.Incidents}
	if page.Next != 0 {
		answer.Next = position{List: "incidents", At: page.Next}.String()
	}
	return answer, err
}

func (s *server) getIncident(ctx context.Context, r *http.Request, _ *params) (any, error) {
	id, err := operations.ParseID("incident", r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return s.ops.Incident(ctx, id)
}
