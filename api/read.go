package api

import (
	"context"
	"net/http"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Answers that are pages of lists.
type (
	runPage struct {
		operations.RunPage
		Next string `json:"next,omitempty"`
	}
	memberPage struct {
		operations.MemberPage
		Next string `json:"next,omitempty"`
	}
	jobPage struct {
		Jobs []operations.Job `json:"jobs"`
		Next string           `json:"next,omitempty"`
	}
	auditPage struct {
		Audit []operations.AuditEntry `json:"audit"`
		Next  string                  `json:"next,omitempty"`
	}
)

func (s *server) reads() {
	s.handle("GET /v1/openapi.yaml", func(w http.ResponseWriter, r *http.Request) {
		if q := query(r); q.err != nil {
			s.fail(w, r, q.err)
			return
		}
		w.Header().Set("Content-Type", "application/yaml")
		w.Write(Document)
	})
	s.get("/v1/status", false, func(ctx context.Context, _ *http.Request, _ *params) (any, error) { return s.ops.Status(ctx) })
	s.get("/v1/processes", false, func(ctx context.Context, _ *http.Request, _ *params) (any, error) {
		list, err := s.ops.Processes(ctx)
		return map[string]any{"processes": list}, err
	})
	s.get("/v1/targets", false, func(context.Context, *http.Request, *params) (any, error) {
		list, err := s.ops.Targets()
		return map[string]any{"targets": list}, err
	})
	s.get("/v1/keys", false, func(context.Context, *http.Request, *params) (any, error) {
		list, err := s.ops.Keys()
		return map[string]any{"keys": list}, err
	})
	s.get("/v1/jobs", true, s.listJobs, "job", "owner", "label", "target", "limit", "cursor")
	s.get("/v1/jobs/{id}", true, func(ctx context.Context, r *http.Request, _ *params) (any, error) {
		return s.ops.Job(ctx, r.PathValue("id"))
	})
	s.get("/v1/jobs/{id}/next", false, s.listNext, "after", "count")
	s.get("/v1/jobs/{id}/revisions", false, s.compareRevisions, "from", "to")
	s.get("/v1/jobs/{id}/trend", false, func(ctx context.Context, r *http.Request, _ *params) (any, error) {
		return s.ops.Trend(ctx, r.PathValue("id"))
	})
	s.get("/v1/runs", false, s.listRuns, "job", "owner", "label", "target", "state", "reason", "since", "until", "unacknowledged", "limit",
		"cursor")
	s.get("/v1/runs/{id}", true, func(ctx context.Context, r *http.Request, _ *params) (any, error) {
		return s.ops.Run(ctx, r.PathValue("id"))
	})
	s.get("/v1/runs/{id}/members", false, s.listMembers, "state", "key", "limit", "cursor")
	s.get("/v1/why", false, s.explain, "job", "at", "member")
	s.get("/v1/audit", false, s.listAudit, "job", "owner", "label", "target", "since", "until", "run", "by", "limit", "cursor")
	for _, what := range operations.Exports {
		s.export(what)
	}
	s.get("/v1/changes", false, s.listChanges, "job", "owner", "label", "target", "after")
	s.get("/v1/incidents", false, s.listIncidents, "job", "owner", "label", "target", "open", "limit", "cursor")
	s.get("/v1/incidents/{id}", true, s.getIncident)
	s.get("/v1/pauses", false, func(ctx context.Context, _ *http.Request, q *params) (any, error) {
		ended := q.flag("ended")
		if q.err != nil {
			return nil, q.err
		}
		list, err := s.ops.Pauses(ctx, ended)
		return map[string]any{"pauses": list}, err
	}, "ended")
}

func (s *server) listJobs(ctx context.Context, _ *http.Request, q *params) (any, error) {
	limit := q.count("limit", operations.DefaultPage, operations.MaxPage)
	after := q.cursor("jobs")
	if q.err != nil {
		return nil, q.err
	}
	list, more, err := s.ops.JobsAfter(ctx, q.selection(), after.ID, limit)
	page := jobPage{Jobs: list}
	if more {
		page.Next = position{List: "jobs", ID: list[limit-1].ID}.String()
	}
	return page, err
}

func (s *server) listNext(ctx context.Context, r *http.Request, q *params) (any, error) {
	after, n := q.time("after"), q.count("count", 10, operations.MaxPage)
	if q.err != nil {
		return nil, q.err
	}
	return s.ops.Next(ctx, r.PathValue("id"), after, n)
}

func (s *server) listRuns(ctx context.Context, _ *http.Request, q *params) (any, error) {
	f := q.runs()
	f.Limit = q.count("limit", operations.DefaultPage, operations.MaxPage)
	if p := q.cursor("runs"); p.List != "" {
		f.Before = &ledger.Cursor{ScheduledAt: time.Unix(p.At, 0).UTC(), ID: p.ID}
	}
	if q.err != nil {
		return nil, q.err
	}
	page, err := s.ops.Runs(ctx, q.selection(), f)
	answer := runPage{RunPage: page}
	if page.Next != nil {
		answer.Next = position{List: "runs", At: page.Next.ScheduledAt.Unix(), ID: page.Next.ID}.String()
	}
	return answer, err
}

func (s *server) listMembers(ctx context.Context, r *http.Request, q *params) (any, error) {
	members := q.members(r.PathValue("id"))
	members.Limit, members.After = q.count("limit", operations.DefaultPage, operations.MaxPage), q.cursor("members").ID
	if q.err != nil {
		return nil, q.err
	}
	page, err := s.ops.Members(ctx, members)
	answer := memberPage{MemberPage: page}
	if page.Next != "" {
		answer.Next = position{List: "members", ID: page.Next}.String()
	}
	return answer, err
}

func (s *server) compareRevisions(ctx context.Context, r *http.Request, q *params) (any, error) {
	from, to := q.text("from"), q.text("to")
	if q.err != nil {
		return nil, q.err
	}
	return s.ops.Revisions(ctx, r.PathValue("id"), from, to)
}

func (s *server) listChanges(ctx context.Context, _ *http.Request, q *params) (any, error) {
	if q.err != nil {
		return nil, q.err
	}
	return s.ops.Changes(ctx, q.selection(), q.text("after"))
}

func (s *server) explain(ctx context.Context, _ *http.Request, q *params) (any, error) {
	if q.text("at") == "" {
		return nil, invalid("the query parameter at is required: at=2026-11-21T03:00:00Z")
	}
	return s.ops.Why(ctx, q.text("job"), q.text("at"), q.text("member"))
}

func (s *server) listAudit(ctx context.Context, _ *http.Request, q *params) (any, error) {
	f := q.audit()
	f.Limit, f.Before = q.count("limit", operations.DefaultPage, ledger.MaxAuditPage), q.cursor("audit").At
	if q.err != nil {
		return nil, q.err
	}
	entries, err := s.ops.Audit(ctx, q.selection(), f)
	page := auditPage{Audit: entries}
	if len(entries) == f.Limit {
		page.Next = position{List: "audit", At: entries[len(entries)-1].ID}.String()
	}
	return page, err
}
