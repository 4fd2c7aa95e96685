package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// action is one of operations.Actions with what the dashboard adds to it.
//
// The way of an action: a link, which allowed offers, leads to its page at actionPath. actionPage fills the page by a
// dry run. The form on it is sent to postAction, which makes the action and redirects to a page that shows a notice of
// what was done and a link that undoes it.
type action struct {
	operations.Action
	actionForm
}

// actionView is the page of an action. newActionView makes it, and the preview of the action fills it in.
type actionView struct {
	action
	Subject string // what it acts on, in words
	Back    string // the page of that
	Lines   []string
	// Refused says why the action cannot be done; the page then has no form.
	Refused string
	Problem string        // why the server refused the form that was sent
	Counts  []actionCount // the result of the dry run, for actions on many
	LeftOut []leftOut
	Runs    []operations.Run // the first runs that it changes
	More    int              // the number of the others
	Ask     *span            // of a backfill: the times to choose
	Pause   *pauseAsk
	Button  string
	Hidden  []field // of the form
	Key     string  // the form's idempotency key: sent twice, it is done once
	Why, By string
	NeedsBy bool   // nothing proves who asks
	CLI     string // the command that does the same
	Now     clock
}

// actionCount is a number in the preview of an action, with its name: "will run", 12.
type actionCount struct {
	Label string
	Count int
}

// leftOut is the number of runs that an action leaves as they are, and why.
type leftOut struct {
	Count  int
	Why    string
	Option string // what takes them too
	Link   string
}

// field is a hidden field of a form.
type field struct{ Name, Value string }

// actionLink leads to the page of an action. allowed sets an empty Label to the verb of the action.
type actionLink struct{ Name, Label, Path string }

// allowed returns those of the links whose actions the identity of a request may do. It only spares a
// click: the action is checked again when its page is asked for, and when its form is sent.
func (d *Dashboard) allowed(r *http.Request, links ...actionLink) (list []actionLink) {
	for _, l := range links {
		a, _ := operations.ActionOf(l.Name)
		if d.Actions && a.Permits(access.FromContext(r.Context()), operations.ActionRequest{}) == nil {
			l.Label = cmp.Or(l.Label, a.Verb)
			list = append(list, l)
		}
	}
	return list
}

// actionsPath begins the addresses of the pages of actions, and of nothing else.
const actionsPath = "/actions/"

// actionPath returns the address of the page of an action. pairs are as for address.
func actionPath(name string, pairs ...string) string { return address(actionsPath+name, pairs...) }

// actionOf returns the action that an address names, if the caller is allowed to do it.
func (d *Dashboard) actionOf(r *http.Request) (action, error) {
	offered, known := operations.ActionOf(r.PathValue("action"))
	a, who := action{offered, actionForms[offered.Name]}, access.FromContext(r.Context())
	switch {
	case !known || !d.Actions:
		return a, errNoPage
	case a.Permits(who, operations.ActionRequest{}) != nil:
		return a, &pageError{http.StatusForbidden, "This needs the role " + a.MinRole.String() + ", and you have the role " + who.Role.String() + ".",
			"Ask somebody who has it; the access file grants roles."}
	}
	return a, nil
}

// actionPage is the page of an action. The query of its address selects what it acts on.
func (d *Dashboard) actionPage(r *http.Request) (view, error) {
	v, err := d.newActionView(r, r.URL.Query())
	if err != nil {
		return view{}, err
	}
	return v.view(), nil
}

// newActionView makes the page of an action from its fields. q is the query of the address or, where a form is shown
// again, the form. It changes nothing, so that an address can be opened and reloaded without harm.
func (d *Dashboard) newActionView(r *http.Request, q url.Values) (*actionView, error) {
	a, err := d.actionOf(r)
	if err != nil {
		return nil, err
	}
	v := &actionView{action: a, Now: d.clockOf(r), Key: operations.NewToken(), NeedsBy: access.FromContext(r.Context()).Name == ""}
	if v.NeedsBy {
		v.By = rememberedName(r)
	}
	for i, id := range q["run"] {
		if q["run"][i], err = d.Operations.FindRun(r.Context(), id); err != nil {
			return nil, err
		}
	}
	// Previews read the address. A form that is shown again has the same fields in its body.
	asked := r.Clone(r.Context())
	asked.URL.RawQuery = q.Encode()
	return v, a.preview(d, asked, v)
}

// view returns the page. It does not follow the ledger (Still), as somebody fills in its form.
func (v *actionView) view() view {
	return view{Template: "action", Title: v.Verb + " " + v.Subject, Data: v, Still: true}
}

// hide adds hidden fields to the form: name, value, and so on. It leaves out those without a value.
func (v *actionView) hide(pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Hidden = append(v.Hidden, field{pairs[i], pairs[i+1]})
		}
	}
}

// refuse puts an error of package operations on the page as the reason why the action cannot be done, and returns nil.
// It returns any other error, which is one of the ledger.
func (v *actionView) refuse(err error) error {
	if refused, ok := operationsError(err); ok {
		v.Refused = sentenceOf(refused.Message)
		return nil
	}
	return err
}

// sentenceOf writes an error message as a sentence. A message may begin with a job's name or a run
// ID, whose case counts, so only words that are known not to be one get a capital.
func sentenceOf(text string) string {
	if text == "" {
		return ""
	}
	switch first, rest, _ := strings.Cut(text, " "); first {
	case "no":
		text = strings.Replace(text, "no job ", "No job ", 1)
	case "a", "an", "another", "invalid", "it", "its", "nobody's", "the", "this", "unknown", "why":
		text = strings.ToUpper(first[:1]) + first[1:] + " " + rest
	}
	return strings.TrimRight(text, ". ") + "."
}

// runAction is an action that fits a run's state: as a link, and as a command.
type runAction struct {
	actionLink
	command string
}

// runActions returns the actions that fit a run's state. A dead run is redriven under its own key while
// that is safe, and otherwise repeated as new work.
func runActions(run ledger.Run, now time.Time) []runAction {
	one := func(name, flags string) runAction {
		return runAction{actionLink{Name: name, Path: actionPath(name, "run", run.ID)}, "cronce runs " + name + " " + shellQuote(run.ID) + flags + why}
	}
	backfill := func(label string, through time.Time) []runAction {
		from, to := run.ScheduledAt.Format(time.RFC3339), through.Format(time.RFC3339)
		return []runAction{{actionLink{operations.BackfillJob, label, actionPath(operations.BackfillJob, "job", run.JobID, "from", from, "to", to)},
			"cronce backfill " + shellQuote(run.JobID) + " --from " + from + " --to " + to + why}}
	}
	switch {
	case !run.State.Finished():
		return []runAction{one(operations.Cancel, "")}
	case run.Count > 1:
		return backfill("Backfill", run.Until)
	case notRun(run):
		return backfill("Run it after all", run.ScheduledAt)
	}
	var list []runAction
	if run.State == ledger.Dead && !run.KeyUnsafe(now) {
		list = append(list, one(operations.Redrive, ""))
	}
	if run.State == ledger.Dead && run.AckedAt.IsZero() {
		list = append(list, one(operations.Ack, ""))
	}
	return append(list, one(operations.Rerun, " --new-key"))
}

// notRun reports whether a scheduled time did not run, so that a backfill runs it.
func notRun(run ledger.Run) bool {
	switch run.State {
	case ledger.Skipped, ledger.Missed, ledger.Superseded, ledger.Canceled:
		return !ledger.IsAdHoc(run.ID)
	}
	return false
}

// jobActions returns the actions that fit a job's state: none if the registry lacks the job or no process has planned
// it yet, as the ledger would refuse them.
func (d *Dashboard) jobActions(r *http.Request, v jobView) []actionLink {
	if v.Job == nil {
		return nil
	}
	link := func(name string) actionLink { return actionLink{Name: name, Path: actionPath(name, "job", v.Row.ID)} }
	pause := link(operations.PauseJob)
	switch {
	case v.Status == nil:
		return nil
	case !v.Status.PausedAt.IsZero():
		pause = link(operations.ResumeJob)
	}
	return d.allowed(r, pause, link(operations.TriggerJob), link(operations.BackfillJob))
}

// filterActions returns the actions on all runs of a filter that narrows the ledger down. some reports
// whether runs in a state may be among them: an action that would find none is not offered.
func (d *Dashboard) filterActions(r *http.Request, f runFilter, parsed ledger.Filter, some func(func(ledger.State) bool) bool) []actionLink {
	link := func(name, label string) actionLink {
		narrow := f
		if name == operations.Cancel { // it refuses a filter with finished states
			narrow.States = slices.DeleteFunc(slices.Clone(f.States), func(s string) bool { return ledger.State(s).Finished() })
		}
		return actionLink{name, label, actionPath(name, narrow.pairs()...)}
	}
	var links []actionLink
	if (len(f.States) == 0 || f.Has(ledger.Dead)) && some(func(s ledger.State) bool { return s == ledger.Dead }) {
		links = append(links, link(operations.Redrive, "Redrive the dead…"), link(operations.Ack, "Acknowledge the dead…"))
	}
	unfinished := func(s ledger.State) bool { return !s.Finished() }
	if (len(f.States) == 0 || slices.ContainsFunc(parsed.States, unfinished)) && parsed.Reason == "" && some(unfinished) {
		links = append(links, link(operations.Cancel, "Cancel the unfinished…"))
	}
	return d.allowed(r, links...)
}
