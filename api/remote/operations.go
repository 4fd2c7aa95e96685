package remote

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Status returns who works on the ledger, and its backlog.
func (s *Client) Status(ctx context.Context) (v operations.Status, err error) {
	return v, s.get(ctx, "/v1/status", nil, &v)
}

// Jobs lists the registry's jobs.
func (s *Client) Jobs(ctx context.Context) ([]operations.Job, error) {
	all := []operations.Job{}
	query := url.Values{"limit": {strconv.Itoa(operations.MaxPage)}}
	for {
		var page struct {
			Jobs []operations.Job `json:"jobs"`
			Next string           `json:"next"`
		}
		if err := s.get(ctx, "/v1/jobs", query, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Jobs...); page.Next == "" {
			return all, nil
		}
		if err := goOn(query, page.Next); err != nil {
			return nil, err
		}
	}
}

// Job shows one job.
func (s *Client) Job(ctx context.Context, id string) (v operations.JobDetail, err error) {
	return v, s.get(ctx, "/v1/jobs/"+url.PathEscape(id), nil, &v)
}

// Runs lists runs, up to the filter's limit.
func (s *Client) Runs(ctx context.Context, f ledger.Filter) (operations.RunPage, error) {
	query := url.Values{}
	set(query, "job", f.JobID)
	set(query, "reason", string(f.Reason))
	set(query, "since", timeText(f.Since))
	set(query, "until", timeText(f.Until))
	for _, st := range f.States {
		query.Add("state", string(st))
	}
	if f.Unacknowledged {
		query.Set("unacknowledged", "true")
	}
	all := operations.RunPage{Runs: []operations.Run{}}
	for {
		query.Set("limit", strconv.Itoa(min(f.Limit-len(all.Runs), operations.MaxPage)))
		var page struct {
			Runs []operations.Run `json:"runs"`
			Next string           `json:"next"`
		}
		if err := s.get(ctx, "/v1/runs", query, &page); err != nil {
			return all, err
		}
		all.Runs = append(all.Runs, page.Runs...)
		if page.Next == "" || len(all.Runs) >= f.Limit {
			return all, nil
		}
		if err := goOn(query, page.Next); err != nil {
			return all, err
		}
	}
}

// Run shows one run.
func (s *Client) Run(ctx context.Context, id string) (v operations.RunDetail, err error) {
	return v, s.get(ctx, runPath(id), nil, &v)
}

// Changes returns what changed after a position, "" for the present one.
func (s *Client) Changes(ctx context.Context, jobID, after string) (got operations.Changes, err error) {
	query := url.Values{}
	if jobID != "" {
		query.Set("job", jobID)
	}
	if after != "" {
		query.Set("after", after)
	}
	return got, s.get(ctx, "/v1/changes", query, &got)
}

// Why explains why a job ran, or did not, at a time.
func (s *Client) Why(ctx context.Context, jobID string, at time.Time) (v operations.Explanation, err error) {
	return v, s.get(ctx, "/v1/why", url.Values{"job": {jobID}, "at": {timeText(at)}}, &v)
}

// actBody is the body of a mutation.
type actBody struct {
	By                  string         `json:"by,omitempty"`
	Why                 string         `json:"why"`
	DryRun              bool           `json:"dryRun,omitempty"`
	From                string         `json:"from,omitempty"`
	To                  string         `json:"to,omitempty"`
	RunIDs              []string       `json:"runIds,omitempty"`
	Job                 string         `json:"job,omitempty"`
	State               []ledger.State `json:"state,omitempty"`
	Reason              ledger.Reason  `json:"reason,omitempty"`
	Since               string         `json:"since,omitempty"`
	Until               string         `json:"until,omitempty"`
	Limit               int            `json:"limit,omitempty"`
	Cursor              string         `json:"cursor,omitempty"`
	Continues           string         `json:"continues,omitempty"`
	IncludeAcknowledged bool           `json:"includeAcknowledged,omitempty"`
	Force               bool           `json:"force,omitempty"`
	MayDouble           bool           `json:"mayDouble,omitempty"`
	NewKey              bool           `json:"newKey,omitempty"`
	Close               bool           `json:"close,omitempty"`
}

func body(who ledger.Actor) actBody { return actBody{By: who.By, Why: who.Why} }

// Pause pauses the job: its scheduled times are skipped until Resume.
func (s *Client) Pause(ctx context.Context, jobID string, who ledger.Actor) (v operations.JobActionResult, err error) {
	return v, s.post(ctx, "/v1/jobs/"+url.PathEscape(jobID)+"/pause", body(who), &v)
}

// Resume ends a pause.
func (s *Client) Resume(ctx context.Context, jobID string, who ledger.Actor) (v operations.JobActionResult, err error) {
	return v, s.post(ctx, "/v1/jobs/"+url.PathEscape(jobID)+"/resume", body(who), &v)
}

// Trigger makes a run that starts now; a process that serves makes its calls.
func (s *Client) Trigger(ctx context.Context, jobID string, who ledger.Actor) (v operations.Run, err error) {
	return v, s.post(ctx, "/v1/jobs/"+url.PathEscape(jobID)+"/trigger", body(who), &v)
}

// Rerun repeats a finished run as new work.
func (s *Client) Rerun(ctx context.Context, r operations.Rerun) (v operations.Run, err error) {
	b := body(r.Actor)
	b.NewKey, b.MayDouble = r.NewKey, r.MayDouble
	return v, s.post(ctx, runPath(r.RunID)+"/rerun", b, &v)
}

// Backfill plans scheduled times that did not run.
func (s *Client) Backfill(ctx context.Context, f operations.Backfill) (v operations.Backfilled, err error) {
	b := body(f.Actor)
	b.From, b.To, b.DryRun = timeText(f.From), timeText(f.To), f.DryRun
	return v, s.post(ctx, "/v1/jobs/"+url.PathEscape(f.JobID)+"/backfill", b, &v)
}

// Act cancels, redrives or acknowledges the runs that the action selects, in as many
// requests as the server needs for them.
func (s *Client) Act(ctx context.Context, what operations.RunAction, act ledger.Action) (operations.RunActionResult, error) {
	b := body(act.Actor)
	b.Job, b.State, b.Reason, b.Limit = act.JobID, act.States, act.Reason, cmp.Or(act.Limit, operations.MaxPart)
	b.Since, b.Until = timeText(act.Since), timeText(act.Until)
	b.IncludeAcknowledged, b.Force, b.MayDouble, b.DryRun = act.IncludeAcknowledged, act.Force, act.MayDouble, act.DryRun
	all := operations.NewRunActionResult(act.DryRun)
	selections := [][]string{nil} // by the filter
	if len(act.IDs) > 0 {
		selections = slices.Collect(slices.Chunk(act.IDs, operations.MaxPage))
	}
	for _, b.RunIDs = range selections {
		for more := true; more; more = b.Cursor != "" && act.Limit == 0 {
			var part struct {
				operations.RunActionResult
				Next    string `json:"next"`
				Request string `json:"request"`
			}
			if err := s.post(ctx, "/v1/runs/"+string(what), b, &part); err != nil {
				return all, err
			}
			all.Add(part.RunActionResult, b.Cursor == "")
			if b.Cursor = part.Next; what == operations.Redrive {
				b.Continues = part.Request
			}
		}
	}
	return all, nil
}

// Incidents lists incidents, up to the filter's limit.
func (s *Client) Incidents(ctx context.Context, f ledger.IncidentFilter) (operations.IncidentPage, error) {
	query := url.Values{}
	set(query, "job", f.JobID)
	if f.Open {
		query.Set("open", "true")
	}
	all := operations.IncidentPage{Incidents: []operations.Incident{}}
	for {
		query.Set("limit", strconv.Itoa(min(f.Limit-len(all.Incidents), operations.MaxPage)))
		var page struct {
			Incidents []operations.Incident `json:"incidents"`
			Next      string                `json:"next"`
		}
		if err := s.get(ctx, "/v1/incidents", query, &page); err != nil {
			return all, err
		}
		all.Incidents = append(all.Incidents, page.Incidents...)
		if page.Next == "" || len(all.Incidents) >= f.Limit {
			return all, nil
		}
		if err := goOn(query, page.Next); err != nil {
			return all, err
		}
	}
}

// Incident shows one incident.
func (s *Client) Incident(ctx context.Context, id int64) (v operations.Incident, err error) {
	return v, s.get(ctx, "/v1/incidents/"+strconv.FormatInt(id, 10), nil, &v)
}

// AckIncident acknowledges an open incident, or closes it.
func (s *Client) AckIncident(ctx context.Context, a ledger.IncidentAction) (v operations.Incident, err error) {
	b := body(a.Actor)
	b.Close = a.Close
	return v, s.post(ctx, "/v1/incidents/"+strconv.FormatInt(a.ID, 10)+"/ack", b, &v)
}

func runPath(id string) string { return "/v1/runs/" + url.PathEscape(id) }

// goOn asks for the next page. A server that names the page that it has just sent would
// be asked for ever.
func goOn(query url.Values, cursor string) error {
	if query.Get("cursor") == cursor {
		return errors.New("the server names the page that it has just sent as the next one; check that --server is a cronce server of this version")
	}
	query.Set("cursor", cursor)
	return nil
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
