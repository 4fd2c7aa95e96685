package operations

import (
	"context"
	"net/http"
	"slices"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/jobs"
)

// Action is what an operator can do. Actions has all: who may do it, which fields a request
// of it has, where the API serves it, and how it is done. The API, the dashboard and the
// client of a server follow it.
type Action struct {
	Name   string // on the dashboard; with a Verb for people
	Verb   string
	Path   string      // of the API; {id} stands for the job, run, incident or pause that it is for
	Least  access.Role // that it needs; see Permits
	Fields []string    // beside "by" and "why"
	Status int         // of the answer
	do     func(*Service, context.Context, Ask) (any, error)
}

// AckIncident names the action on an incident.
const AckIncident = "ack-incident"

// Actions are all actions.
var Actions = slices.Concat([]Action{
	{"pause", "Pause", "/v1/jobs/{id}/pause", access.Operator, nil, http.StatusOK, (*Service).askPause},
	{"resume", "Resume", "/v1/jobs/{id}/resume", access.Operator, nil, http.StatusOK, (*Service).askResume},
	{"trigger", "Trigger", "/v1/jobs/{id}/trigger", access.Operator, nil, http.StatusCreated, (*Service).askTrigger},
	{"backfill", "Backfill", "/v1/jobs/{id}/backfill", access.Operator, []string{"dryRun", "from", "to", "parallel", "newestFirst", "neverPlanned", "series"},
		http.StatusOK, (*Service).askBackfill},
	{"rerun", "Rerun", "/v1/runs/{id}/rerun", access.Admin, []string{"newKey", "mayDouble"}, http.StatusCreated, (*Service).askRerun},
	{AddPause, "Pause", "/v1/pauses", access.Operator, []string{"kind", "all", "job", "owner", "label", "target", "from", "until", "dryRun"},
		http.StatusCreated, (*Service).askChangePause},
	{ChangePause, "Change", "/v1/pauses/{id}/change", access.Operator, []string{"from", "until"}, http.StatusOK, (*Service).askChangePause},
	{EndPause, "End", "/v1/pauses/{id}/end", access.Operator, nil, http.StatusOK, (*Service).askEndPause},
	{AckIncident, "Acknowledge", "/v1/incidents/{id}/ack", access.Operator, []string{"close"}, http.StatusOK, (*Service).askIncident},
},
	onRuns(Redrive, "Redrive", "force", "mayDouble"),
	onRuns(Cancel, "Cancel"),
	onRuns(Ack, "Acknowledge"),
)

// onRuns returns an action on the runs that the body selects, and the same on one run.
func onRuns(what RunAction, verb string, fields ...string) []Action {
	do := func(s *Service, ctx context.Context, ask Ask) (any, error) { return s.askRuns(ctx, what, ask) }
	fields = append(fields, "dryRun")
	many := append([]string{"runIds", "parent", "member", "job", "owner", "label", "target", "state", "reason", "since", "until", "limit",
		"includeAcknowledged", "series"}, fields...)
	return []Action{
		{string(what), verb, "/v1/runs/" + string(what), access.Operator, many, http.StatusOK, do},
		{string(what), verb, "/v1/runs/{id}/" + string(what), access.Operator, fields, http.StatusOK, do},
	}
}

// ActionOf returns the action of a name; of those on runs, the one on many.
func ActionOf(name string) (a Action, known bool) {
	i := slices.IndexFunc(Actions, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return a, false
	}
	return Actions[i], true
}

// Permits returns an Error if an identity may not ask this of the action.
func (a Action) Permits(who access.Identity, ask Ask) error {
	template, _, keyed := jobs.SplitJobID(ask.ID)
	ofSchedule := keyed && (a.Name == "pause" || a.Name == "resume") && who.MayChange(template)
	if who.Role < a.Least && !ofSchedule {
		return refuse(Forbidden, "this needs the role %s, and %s is a %s", a.Least, who.Principal(), who.Role)
	}
	if who.Role < access.Admin && (ask.Force || ask.MayDouble || ask.NewKey) {
		return refuse(Forbidden, "force, mayDouble and newKey are for administrators")
	}
	return nil
}
