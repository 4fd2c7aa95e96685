package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Status returns who works on the ledger, and its backlog.
func (s *Client) Status(ctx context.Context) (operations.Status, error) {
	return get[operations.Status](ctx, s, "/v1/status", nil)
}

// Jobs lists the selected jobs of the registry.
func (s *Client) Jobs(ctx context.Context, sel operations.Selection) ([]operations.Job, error) {
	return pages[operations.Job](ctx, s, "/v1/jobs", "jobs", queryOf(sel), 0)
}

// pages lists what a path has under a name, page by page, up to a limit; 0: all.
func pages[T any](ctx context.Context, s *Client, path, name string, query url.Values, limit int) ([]T, error) {
	for all := []T{}; ; {
		size := operations.MaxPage
		if limit > 0 {
			size = min(limit-len(all), size)
		}
		query.Set("limit", strconv.Itoa(size))
		page, err := get[map[string]json.RawMessage](ctx, s, path, query)
		if err != nil {
			return all, err
		}
		var list []T
		var next string
		for field, into := range map[string]any{name: &list, "next": &next} {
			if text := page[field]; text != nil {
				if err := json.Unmarshal(text, into); err != nil {
					return all, s.foreign(err)
				}
			}
		}
		if all = append(all, list...); next == "" || limit > 0 && len(all) >= limit {
			return all, nil
		}
		if err := goOn(query, next); err != nil {
			return all, err
		}
	}
}

// Job shows one job.
func (s *Client) Job(ctx context.Context, id string) (operations.JobDetail, error) {
	return get[operations.JobDetail](ctx, s, "/v1/jobs/"+url.PathEscape(id), nil)
}

// Revisions compares two definitions of a job.
func (s *Client) Revisions(ctx context.Context, jobID, from, to string) (operations.RevisionDiff, error) {
	return get[operations.RevisionDiff](ctx, s, "/v1/jobs/"+url.PathEscape(jobID)+"/revisions", given("from", from, "to", to))
}

// Runs lists runs, up to the filter's limit.
func (s *Client) Runs(ctx context.Context, sel operations.Selection, f ledger.Filter) (operations.RunPage, error) {
	query := queryOf(sel)
	addFilter(query, f)
	runs, err := pages[operations.Run](ctx, s, "/v1/runs", "runs", query, f.Limit)
	return operations.RunPage{Runs: runs}, err
}

// Run shows one run.
func (s *Client) Run(ctx context.Context, id string) (operations.RunDetail, error) {
	return get[operations.RunDetail](ctx, s, runPath(id), nil)
}

// Members lists a page of the members of a run.
func (s *Client) Members(ctx context.Context, q operations.MemberQuery) (operations.MemberPage, error) {
	query := membersQuery(q)
	query.Set("limit", strconv.Itoa(min(q.Limit, operations.MaxPage)))
	set(query, "cursor", q.After)
	page, err := get[struct {
		operations.MemberPage
		Next string `json:"next"`
	}](ctx, s, runPath(q.Parent)+"/members", query)
	page.MemberPage.Next = page.Next
	if err == nil && page.Next != "" {
		err = goOn(query, page.Next)
	}
	return page.MemberPage, err
}

func membersQuery(q operations.MemberQuery) url.Values {
	query := given("key", q.Key)
	for _, st := range q.States {
		query.Add("state", string(st))
	}
	return query
}

// Changes returns what changed after a position, "" for the present one.
func (s *Client) Changes(ctx context.Context, sel operations.Selection, after string) (operations.Changes, error) {
	query := queryOf(sel)
	set(query, "after", after)
	return get[operations.Changes](ctx, s, "/v1/changes", query)
}

// Why explains why a job ran, or did not, at a time.
func (s *Client) Why(ctx context.Context, jobID, at, member string) (operations.Explanation, error) {
	return get[operations.Explanation](ctx, s, "/v1/why", given("job", jobID, "at", at, "member", member))
}

// DoAction does an action on the job, run, incident or pause of an ID.
func (s *Client) DoAction(ctx context.Context, action, id string, ask operations.ActionRequest, answer any) error {
	a, _ := operations.ActionOf(action)
	return s.post(ctx, strings.Replace(a.Path, "{id}", url.PathEscape(id), 1), ask, answer)
}

// Incidents lists incidents, up to the filter's limit.
func (s *Client) Incidents(ctx context.Context, sel operations.Selection, f ledger.IncidentFilter) (operations.IncidentPage, error) {
	query := queryOf(sel)
	if f.Open {
		query.Set("open", "true")
	}
	list, err := pages[operations.Incident](ctx, s, "/v1/incidents", "incidents", query, f.Limit)
	return operations.IncidentPage{Incidents: list}, err
}

// Incident shows one incident.
func (s *Client) Incident(ctx context.Context, id int64) (operations.Incident, error) {
	return get[operations.Incident](ctx, s, "/v1/incidents/"+strconv.FormatInt(id, 10), nil)
}

// Pauses lists the pauses of many jobs and the holds of targets.
func (s *Client) Pauses(ctx context.Context, ended bool) ([]operations.Pause, error) {
	query := url.Values{}
	if ended {
		query.Set("ended", "true")
	}
	answer, err := get[struct {
		Pauses []operations.Pause `json:"pauses"`
	}](ctx, s, "/v1/pauses", query)
	return answer.Pauses, err
}

func runPath(id string) string { return "/v1/runs/" + url.PathEscape(id) }

// goOn asks for the next page. A server that names the page that it has just sent would
// be asked for ever.
func goOn(query url.Values, cursor string) error {
	if query.Get("cursor") == cursor {
		return errors.New("the server names the page that it has just sent as the next one; check that --server is a cronce server " +
			"of this version")
	}
	query.Set("cursor", cursor)
	return nil
}

func queryOf(sel operations.Selection) url.Values {
	query := given("job", sel.Job, "owner", sel.Owner, "target", sel.Target)
	for _, l := range sel.Labels {
		query.Add("label", l)
	}
	return query
}

func addFilter(query url.Values, f ledger.Filter) {
	set(query, "reason", string(f.Reason), "since", timeText(f.Since), "until", timeText(f.Until))
	for _, st := range f.States {
		query.Add("state", string(st))
	}
	if f.Unacknowledged {
		query.Set("unacknowledged", "true")
	}
}

// given makes a query of names and values, and leaves out those without a value: the server refuses
// empty parameters.
func given(pairs ...string) url.Values {
	query := url.Values{}
	set(query, pairs...)
	return query
}

func set(query url.Values, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			query.Set(pair[0], pair[1])
		}
	}
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
