package operations

import (
	"context"
	"net/http"
	"slices"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/jobs"
)

// Action describes an action of operators; Actions has all: who may do it, which fields a request
// of it has, where the API serves it, and how it is done. The API, the dashboard and the
// client of a server follow it.
type Action struct {
	Name    string      // in logs and in addresses of the dashboard
	Verb    string      // on buttons
	Path    string      // of the API; {id} stands for the job, run, incident or pause that it is for
	MinRole access.Role // see Permits
	Fields  []string    // of an ActionRequest that it takes, beside "by" and "why"; the API refuses others
	Status  int         // of the answer
	// OfSchedules lets a scheduler do it to the schedules of its template.
	OfSchedules bool
	// do does it, after the checks of Service.Do.
	do func(*Service, context.Context, ActionRequest) (any, error)
}

// The names of the actions. Most commands of the program have the same names. They are untyped, so that those on runs are
// also values of RunAction.
const (
	PauseJob    = "pause"
	ResumeJob   = "resume"
	TriggerJob  = "trigger"
	BackfillJob = "backfill"
	Rerun       = "rerun"

	Cancel  = "cancel"
	Redrive = "redrive"
	Ack     = "ack"

	AddPause    = "add-pause" // of many jobs, or a hold of a target
	ChangePause = "change-pause"
	EndPause    = "end-pause"

	AckIncident = "ack-incident"
)

// Actions has all actions. The API makes its routes of it; a test requires a form of the dashboard for each.
var Actions = slices.Concat([]Action{
	{Name: PauseJob, Verb: "Pause", Path: "/v1/jobs/{id}/pause", MinRole: access.Operator, OfSchedules: true,
		Status: http.StatusOK, do: func(s *Service, ctx context.Context, a ActionRequest) (any, error) {
			return s.Pause(ctx, a.ID, a.actor)
		}},
	{Name: ResumeJob, Verb: "Resume", Path: "/v1/jobs/{id}/resume", MinRole: access.Operator, OfSchedules: true,
		Status: http.StatusOK, do: func(s *Service, ctx context.Context, a ActionRequest) (any, error) {
			return s.Resume(ctx, a.ID, a.actor)
		}},
	{Name: TriggerJob, Verb: "Trigger", Path: "/v1/jobs/{id}/trigger", MinRole: access.Operator,
		Status: http.StatusCreated, do: (*Service).doTrigger},
	{Name: BackfillJob, Verb: "Backfill", Path: "/v1/jobs/{id}/backfill", MinRole: access.Operator,
		Fields: []string{"dryRun", "from", "to", "parallel", "newestFirst", "neverPlanned", "series"},
		Status: http.StatusOK, do: (*Service).doBackfill},
	{Name: Rerun, Verb: "Rerun", Path: "/v1/runs/{id}/rerun", MinRole: access.Admin,
		Fields: []string{"newKey", "mayDouble"}, Status: http.StatusCreated, do: (*Service).doRerun},
	{Name: AddPause, Verb: "Pause", Path: "/v1/pauses", MinRole: access.Operator,
		Fields: []string{"kind", "all", "job", "owner", "label", "target", "from", "until", "dryRun"},
		Status: http.StatusCreated, do: (*Service).doChangePause},
	{Name: ChangePause, Verb: "Change", Path: "/v1/pauses/{id}/change", MinRole: access.Operator,
		Fields: []string{"from", "until"},
		Status: http.StatusOK, do: (*Service).doChangePause},
	{Name: EndPause, Verb: "End", Path: "/v1/pauses/{id}/end", MinRole: access.Operator,
		Status: http.StatusOK, do: (*Service).doEndPause},
	{Name: AckIncident, Verb: "Acknowledge", Path: "/v1/incidents/{id}/ack", MinRole: access.Operator,
		Fields: []string{"close"}, Status: http.StatusOK, do: (*Service).doIncident},
},
	onRuns(Redrive, "Redrive", "force", "mayDouble"),
	onRuns(Cancel, "Cancel"),
	onRuns(Ack, "Acknowledge"),
)

// onRuns returns two actions with one name: that on the runs which the request selects, and that on the run in the
// path.
func onRuns(what RunAction, verb string, fields ...string) []Action {
	do := func(s *Service, ctx context.Context, ask ActionRequest) (any, error) {
		return s.doRuns(ctx, what, ask)
	}
	fields = append(fields, "dryRun")
	many := append([]string{"runIds", "parent", "member", "job", "owner", "label", "target", "state", "reason", "since", "until", "limit",
		"includeAcknowledged", "series"}, fields...)
	at := func(path string, fields []string) Action {
		return Action{Name: string(what), Verb: verb, Path: path, MinRole: access.Operator, Fields: fields, Status: http.StatusOK, do: do}
	}
	return []Action{at("/v1/runs/"+string(what), many), at("/v1/runs/{id}/"+string(what), fields)}
}

// ActionOf returns the action with a name. An action on runs is in Actions twice; it returns the one that takes a
// selection, which can also name a single run.
func ActionOf(name string) (a Action, known bool) {
	i := slices.IndexFunc(Actions, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return a, false
	}
	return Actions[i], true
}

// actionNames returns the names that ActionOf knows.
func actionNames() (names []string) {
	for _, a := range Actions {
		names = append(names, a.Name)
	}
	return slices.Compact(names)
}

// Permits returns an Error if the identity may not do the action as asked. Service.Do calls it; the dashboard also
// calls it to offer only what would be done. Force, MayDouble and NewKey may repeat an effect, so they need an
// administrator.
func (a Action) Permits(who access.Identity, ask ActionRequest) error {
	template, _, keyed := jobs.SplitJobID(ask.ID)
	ofSchedule := keyed && a.OfSchedules && who.MayChange(template) // without any role
	if who.Role < a.MinRole && !ofSchedule {
		return refuse(Forbidden, "%s", who.Needs(a.MinRole.String()))
	}
	if who.Role < access.Admin && (ask.Force || ask.MayDouble || ask.NewKey) {
		return refuse(Forbidden, "force, mayDouble and newKey are for administrators")
	}
	return nil
}
