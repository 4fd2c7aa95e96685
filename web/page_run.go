package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// runView is the page of a run: its life, its attempts, and what can be done.
type runView struct {
	Run      ledger.Run
	Key      operations.RunKey
	Kind     kind
	Sentence string
	Pause    *ledger.Audit // that a skipped run fell into; nil where it is not known
	Attempts []attemptView
	Steps    []step
	Headers  []string
	Body     string
	Audit    []ledger.Audit
	// Deliveries are the pings of the run, and the notifications of its incidents.
	Deliveries []operations.Delivery
	Members    *membersView // of a run whose list is frozen
	Job        string
	Do         []actionLink
	Commands   []string
	Now        clock
	// Left is the time until nothing is sent any more; 0 when that has passed or
	// is not set.
	Left time.Duration
}

// attemptView is an attempt with its bar on the common scale of all attempts of the run.
type attemptView struct {
	ledger.Attempt
	Took time.Duration
	Kind kind
	bar
}

// step is one thing that happened to a run.
type step struct {
	Kind   kind
	What   string
	Detail string
	At     time.Time
	After  string // since the step before
}

// run is the page of a run, which the address names by its run ID or by its idempotency key.
func (d *Dashboard) run(r *http.Request) (view, error) {
	ctx := r.Context()
	id, err := d.Operations.FindRun(ctx, r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	run, attempts, err := d.Ledger.Get(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return view{}, missing("The ledger has no run \""+id+"\".",
			"It was purged, or was never planned. The job's page says what became of any time.")
	}
	if err != nil {
		return view{}, err
	}
	if err := d.Operations.AddWaiting(ctx, &run); err != nil {
		return view{}, err
	}
	run.Progress = hidden(r, run.Progress)
	v := runView{Run: run, Key: operations.KeyOf(run), Job: run.JobID, Kind: kindOf(run.State, run.Replayed), Now: d.clockOf(r).Of(run.JobID),
		Sentence: operations.Sentence(run, attempts), Attempts: attemptViews(attempts),
		Headers: headersFor(r, run.Call.Headers), Body: bodyFor(r, run.Call.Body)}
	for i := range v.Attempts {
		v.Attempts[i].Excerpt = hidden(r, v.Attempts[i].Excerpt)
	}
	if err := d.addRelated(r, &v); err != nil {
		return view{}, err
	}
	v.Steps = steps(run, attempts, v.Audit, v.Now)
	v.Commands = []string{"cronce runs show " + shellQuote(run.ID)}
	for _, a := range runActions(run, v.Now.Time) {
		v.Do, v.Commands = append(v.Do, d.allowed(r, a.actionLink)...), append(v.Commands, a.command)
	}
	if !run.SendBefore.IsZero() && run.SendBefore.After(v.Now.Time) {
		v.Left = run.SendBefore.Sub(v.Now.Time)
	}
	return view{Template: "run", Title: fmt.Sprintf("%s: %s", v.Kind, id), Section: "Runs", Data: v}, nil
}

// addRelated adds what the ledger keeps beside the run's own row: the pause that skipped it, the actions of operators on it, its
// notifications and pings, and its members.
func (d *Dashboard) addRelated(r *http.Request, v *runView) (err error) {
	ctx := r.Context()
	if v.Run.Reason == ledger.ReasonPaused {
		if v.Pause, err = d.pauseOf(ctx, v.Run); err != nil {
			return err
		}
	}
	if v.Audit, err = d.Ledger.Audit(ctx, ledger.AuditFilter{RunID: v.Run.ID, Limit: 50}); err != nil {
		return err
	}
	slices.Reverse(v.Audit)
	if v.Deliveries, err = d.Operations.RunDeliveries(ctx, v.Run); err != nil {
		return err
	}
	v.Members, err = d.members(r, v.Run)
	return err
}

// entriesForPause is the number of audit entries of a job that are searched for a pause.
const entriesForPause = 200

// pauseOf returns the job's own pause that a skipped run fell into: a run does not say which, so it is the last one before
// the run was planned. It returns nil for a pause of many jobs, or if the pause is not known.
func (d *Dashboard) pauseOf(ctx context.Context, run ledger.Run) (*ledger.Audit, error) {
	entries, err := d.Ledger.Audit(ctx, ledger.AuditFilter{JobID: run.JobID, Limit: entriesForPause})
	for _, a := range entries { // the newest first
		switch {
		case a.At.After(run.PlannedAt):
		case a.Action == ledger.ActionPause:
			return &a, err
		case a.Action == ledger.ActionResume: // a pause of many jobs skipped the run
			return nil, err
		}
	}
	return nil, err
}

// bodyFor returns a request's body, indented, for those who may see it: operators, as in the API.
func bodyFor(r *http.Request, body []byte) string {
	return hidden(r, pretty(body))
}

// hidden returns a text that is part of a request or an answer, or a note in its place for those who may not see
// bodies.
func hidden(r *http.Request, text string) string {
	if !access.SeesBodies(r.Context()) && text != "" {
		return "hidden: seen by operators and admins"
	}
	return text
}

// headersFor returns the headers that the job adds to a request, for those who may see its body.
func headersFor(r *http.Request, headers map[string]string) (lines []string) {
	if !access.SeesBodies(r.Context()) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lines = append(lines, name+": "+headers[name])
	}
	return lines
}

// answerKinds are the shapes and colors of attempts by their answers.
var answerKinds = map[ledger.AnswerKind]kind{
	ledger.AnswerFresh:      kind(ledger.Succeeded),
	ledger.AnswerReplayed:   replayed,
	ledger.AnswerAccepted:   kind(ledger.Accepted),
	ledger.AnswerInProgress: kind(ledger.Running),
	ledger.AnswerThrottled:  kind(ledger.Retrying),
	ledger.AnswerFailed:     kind(ledger.Retrying),
	ledger.AnswerRefused:    kind(ledger.Dead),
	ledger.AnswerUnknown:    kind(ledger.Missed),
	ledger.AnswerLost:       kind(ledger.Missed),
}

func answerKind(a ledger.AnswerKind) kind { return cmp.Or(answerKinds[a], kind(ledger.Retrying)) }

// answerWords says what an attempt's answer means.
var answerWords = map[ledger.AnswerKind]string{
	ledger.AnswerFresh: "success, the effect was made now", ledger.AnswerReplayed: "success, a stored answer: the effect was made before",
	ledger.AnswerAccepted: "accepted: the target is working on it", ledger.AnswerInProgress: "an earlier call still runs",
	ledger.AnswerThrottled: "the target asked to wait", ledger.AnswerFailed: "the target failed",
	ledger.AnswerRefused: "a final refusal", ledger.AnswerUnknown: "no answer: the effect may have been made",
	ledger.AnswerLost: "the lease expired, or the run was canceled; it may have been sent",
}

// attemptViews places each attempt on one scale, from the first to the last.
func attemptViews(attempts []ledger.Attempt) (list []attemptView) {
	if len(attempts) == 0 {
		return nil
	}
	var first, last time.Time
	for _, a := range attempts {
		if first.IsZero() || !a.StartedAt.IsZero() && a.StartedAt.Before(first) {
			first = a.StartedAt
		}
		if a.FinishedAt.After(last) {
			last = a.FinishedAt
		}
	}
	span := max(float64(last.Sub(first)), 1)
	for _, a := range attempts {
		v := attemptView{Attempt: a, Kind: answerKind(a.Answer)}
		if !a.StartedAt.IsZero() && !a.FinishedAt.IsZero() {
			v.Took = a.FinishedAt.Sub(a.StartedAt)
			v.X = round(float64(a.StartedAt.Sub(first)) / span * chartWidth)
			v.W = max(round(float64(v.Took)/span*chartWidth), 6) // an attempt of a millisecond is seen
			v.X = min(v.X, chartWidth-v.W)
		}
		list = append(list, v)
	}
	return list
}

// steps returns the run's life in the order of time. The ledger keeps no list of it: it is put
// together from the row's times, the attempts and the actions of operators.
func steps(r ledger.Run, attempts []ledger.Attempt, audit []ledger.Audit, now clock) []step {
	var list []step
	add := func(k kind, what, detail string, at time.Time) {
		if !at.IsZero() {
			list = append(list, step{Kind: k, What: what, Detail: detail, At: at})
		}
	}
	if ledger.IsAdHoc(r.ID) {
		add(kind(ledger.Planned), "Asked for", "new work beside the schedule ("+string(r.Trigger)+")", r.ScheduledAt)
	} else {
		add(kind(ledger.Planned), "Scheduled time", "the time that the run is for", r.ScheduledAt)
	}
	if r.Revision > 0 {
		add(kind(ledger.Planned), "Planned", fmt.Sprintf("by revision %d of the job; its request was frozen then", r.Revision), r.PlannedAt)
	} else {
		add(kind(ledger.Planned), "Planned", "its request was frozen then", r.PlannedAt)
	}
	add(kind(ledger.Running), "First leased", "the send-before time was set: "+now.exact(r.SendBefore), r.StartedAt)
	for _, a := range attempts {
		s := attemptStep(r, a)
		add(s.Kind, s.What, s.Detail, s.At)
	}
	for _, a := range audit {
		add(kind(ledger.Canceled), "Operator: "+string(a.Action), "by "+a.By+": "+a.Why, a.At)
	}
	if r.State.Finished() {
		detail := ""
		if r.Reason != "" {
			detail = operations.Because(r.Reason)
		}
		add(kindOf(r.State, r.Replayed), "Recorded: "+string(kindOf(r.State, r.Replayed)), detail, r.FinishedAt)
	} else if !r.NextAt.IsZero() && r.State != ledger.Running && r.State != ledger.FannedOut {
		add(kind(r.State), "Next attempt", "not before this time", r.NextAt)
	}
	return inOrder(list)
}

// attemptStep describes an attempt by its answer. Its time is when it finished, or else when it began.
func attemptStep(r ledger.Run, a ledger.Attempt) step {
	s := step{Kind: answerKind(a.Answer), Detail: answerWords[a.Answer], At: a.FinishedAt}
	s.What = fmt.Sprintf("Attempt %d: %s", a.N, strings.ReplaceAll(string(a.Answer), "_", " "))
	if a.Status > 0 {
		s.What += fmt.Sprintf(" (%d)", a.Status)
	}
	if s.At.IsZero() {
		s.At = a.StartedAt
	}
	if r.Fan.Frozen() && a.Status == http.StatusOK {
		s.Detail = "its list was fetched: " + counted(r.Fan.Members, "member")
	}
	return s
}

// inOrder sorts steps by time, and notes how long each came after the one before.
func inOrder(list []step) []step {
	slices.SortStableFunc(list, func(a, b step) int { return a.At.Compare(b.At) })
	for i := range list {
		if i > 0 && list[i].At.After(list[i-1].At) {
			list[i].After = "+" + short(list[i].At.Sub(list[i-1].At))
		}
	}
	return list
}
