package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// nobody acts in a preview. The checks of an action want an actor before they look at the rest, and
// a dry run writes none.
var nobody = ledger.Actor{By: "preview", Why: "preview"}

// operationsError returns the Error of package operations in an error: a refusal whose text is meant for people.
func operationsError(err error) (*operations.Error, bool) {
	return errors.AsType[*operations.Error](err)
}

// subjectJob finds the job that an action is on and puts it on the action's page. The page of a job that the registry
// lacks says so in place of a form.
func (d *Dashboard) subjectJob(r *http.Request, v *actionView) (jobView, error) {
	j := jobView{Now: v.Now}
	id := strings.TrimSpace(r.URL.Query().Get("job"))
	err := d.findJob(r, id, &j)
	v.Subject, v.Back, v.Now = id, jobPath(id), j.Now
	v.hide("job", id)
	if err == nil && j.Row.Job == nil {
		v.Refused = "The registry that this process serves does not have the job."
	}
	return j, err
}

// previewPause fills in the page of pausing a job. Each preview sets Lines, the sentences about what the action will
// do; CLI, the command that does the same; Button; and Refused if the action cannot be done.
func (d *Dashboard) previewPause(r *http.Request, v *actionView) error {
	j, err := d.subjectJob(r, v)
	if err != nil {
		return err
	}
	v.CLI, v.Button = "cronce jobs pause "+shellQuote(v.Subject)+why, "Pause the job"
	switch {
	case j.Status == nil:
		v.Refused = "The ledger does not know the job yet: no process has planned it."
	case !j.Status.PausedAt.IsZero():
		v.Refused = fmt.Sprintf("The job is paused already, since %s by %s: %s", v.Now.exact(j.Status.PausedAt), j.Status.PausedBy,
			j.Status.PausedWhy)
	}
	v.Lines = []string{"Its scheduled times from now on are skipped, until somebody resumes it."}
	if !j.Row.Next.IsZero() {
		v.Lines = append(v.Lines, "The first that is skipped: "+v.Now.exact(j.Row.Next)+".")
	}
	v.Lines = append(v.Lines, "Runs that are planned or under way go on, backfills too.",
		"Resume undoes the pause; a backfill runs what was skipped.")
	return nil
}

func (d *Dashboard) previewResume(r *http.Request, v *actionView) error {
	j, err := d.subjectJob(r, v)
	if err != nil {
		return err
	}
	v.CLI, v.Button = "cronce jobs resume "+shellQuote(v.Subject)+why, "Resume the job"
	switch {
	case v.Refused != "":
		return nil
	case j.Status == nil || j.Status.PausedAt.IsZero():
		v.Refused = "The job is not paused."
		return nil
	}
	pauses, err := d.Ledger.Pauses(r.Context(), false) // it may be in one of many jobs too
	if err != nil {
		return err
	}
	resumed := j.Status.State()
	resumed.PausedAt = time.Time{}
	v.Lines = []string{
		fmt.Sprintf("It was paused on %s by %s: %s", v.Now.exact(j.Status.PausedAt), j.Status.PausedBy, j.Status.PausedWhy),
		"Its scheduled times from now on run again." + next(operations.DescribeState(j.Row.Job, resumed, pauses, v.Now.Time).Next, v.Now),
		"What was skipped stays skipped; a backfill runs it.",
	}
	return nil
}

// next returns a sentence about the next scheduled time, to be appended to another one; "" if there is none.
func next(t time.Time, now clock) string {
	if t.IsZero() {
		return ""
	}
	return " The next is " + now.exact(t) + "."
}

// previewTrigger makes the entry of the run without writing it. What would refuse the action is thus known before the
// form is sent.
func (d *Dashboard) previewTrigger(r *http.Request, v *actionView) error {
	j, err := d.subjectJob(r, v)
	if err != nil || v.Refused != "" {
		return err
	}
	v.CLI, v.Button = "cronce trigger "+shellQuote(v.Subject)+why, "Trigger the job"
	e, err := d.Operations.TriggerEntry(r.Context(), v.Subject, nobody)
	if err != nil {
		return v.refuse(err)
	}
	v.Lines = []string{
		"One run starts now, beside the schedule, even if another run of the job is unfinished.",
		fmt.Sprintf("It calls %s %s of target %s, under a key of its own: the target takes it for new work.", e.Call.Method, e.Call.Path,
			e.Call.Target),
	}
	if j.Status != nil && j.Status.SlotRun != nil {
		v.Lines = append(v.Lines, "Another run is unfinished now: "+j.Status.SlotRun.ID+".")
	}
	return nil
}

// previewRerun makes the entry of the new run without writing it, as previewTrigger does. If the first run may have had
// its effect, the page has no form; it links to itself with mayDouble set, which takes a second, deliberate click.
func (d *Dashboard) previewRerun(r *http.Request, v *actionView) error {
	q := r.URL.Query()
	id, double := strings.TrimSpace(q.Get("run")), q.Get("mayDouble") != ""
	v.Subject, v.Back, v.Button = id, runPath(id), "Rerun as new work"
	v.CLI = "cronce runs rerun " + shellQuote(id) + " --new-key" + why
	v.Lines = []string{"A new run repeats the work under a new key. The target takes it for new work and does it again."}
	v.hide("run", id)
	ask := operations.ActionRequest{NewKey: true, MayDouble: double}
	if double {
		v.hide("mayDouble", "1")
		v.CLI = "cronce runs rerun " + shellQuote(id) + " --new-key --may-double" + why
		v.Lines = append(v.Lines, "The work may then be done twice.")
	}
	e, err := d.Operations.RerunEntry(r.Context(), id, ask, nobody)
	if err == nil {
		v.Lines = append(v.Lines, fmt.Sprintf("It calls %s %s of target %s with the body of the first run.", e.Call.Method, e.Call.Path,
			e.Call.Target))
		return nil
	}
	refused, ok := operationsError(err)
	if !ok {
		return err
	}
	if refused.Code == operations.UnknownRun {
		return missing(sentenceOf(refused.Message), "The page Runs lists all runs.")
	}
	v.Refused = sentenceOf(refused.Message)
	// If only the doubt about the first run stands against it, the page offers to go on in spite of it.
	ask.MayDouble = true
	if !double {
		if _, err := d.Operations.RerunEntry(r.Context(), id, ask, nobody); err == nil {
			v.LeftOut = []leftOut{{1, v.Refused, "Rerun it although the work may be done twice", actionPath(operations.Rerun, "run", id, "mayDouble", "1")}}
		}
	}
	return nil
}

// firstShown is the number of runs that the page of an action lists.
const firstShown = 10

// previewRuns makes a dry run of an action on runs, by their IDs or by a filter. The form gets times that are absolute
// and the number of runs that the page shows: "24h" and a filter would select other runs by the time that it is sent.
func (d *Dashboard) previewRuns(r *http.Request, v *actionView) error {
	q := r.URL.Query()
	var written runFilter
	f, err := written.parse(q, v.Now.Time)
	if err != nil {
		return err
	}
	f.Parent = strings.TrimSpace(q.Get("parent"))
	written.Since, written.Until, written.Parent = operations.TimeText(f.Since), operations.TimeText(f.Until), f.Parent
	a := ledger.Action{Filter: f, Actor: nobody, DryRun: true, Force: q.Get("force") != "", MayDouble: q.Get("mayDouble") != "",
		IncludeAcknowledged: q.Get("includeAcknowledged") != ""}
	a.Unacknowledged, a.Limit = false, operations.MaxPage // Act leaves acknowledged runs out, and says how many
	v.selected(q["run"], written, &a)
	selection := written.Selection
	if len(a.IDs) > 0 {
		selection = operations.Selection{}
	}
	done, err := d.Operations.ActOnRuns(r.Context(), operations.RunAction(v.Name), selection, a)
	if err != nil {
		return v.refuse(err)
	}
	if len(a.IDs) == 1 && done.Counts.LeftOut[ledger.RejectedNotFound] == 1 {
		return missing("The ledger has no run \""+a.IDs[0]+"\".", "It was purged, or was never planned.")
	}
	if err := d.membersFollow(r, v, done.Changed); err != nil {
		return err
	}
	n := done.Counts.Changed + done.Remaining
	v.Button = v.Verb + " " + counted(n, "run")
	v.Runs, v.More = done.Changed[:min(len(done.Changed), firstShown)], max(n-firstShown, 0)
	if len(a.IDs) == 0 {
		v.Counts = []actionCount{{"will change", n}, {"left out", done.Counts.AllLeftOut()}}
		v.hide("limit", strconv.Itoa(n))
	}
	d.addLeftOut(r, v, done, a)
	if n == 0 {
		v.Refused = "Nothing to " + strings.ToLower(v.Verb) + "."
		if len(a.IDs) == 1 && len(done.Refused) == 1 {
			v.Refused = sentenceOf(done.Refused[0].Why)
		}
	}
	return nil
}

// selected keeps what the action selects, as hidden fields of the form and as a command: the run IDs, or else the
// filter.
func (v *actionView) selected(ids []string, f runFilter, a *ledger.Action) {
	command := []string{"cronce runs", v.Name}
	a.IDs = ids
	if len(ids) > 0 {
		v.Subject, v.Back = counted(len(ids), "run"), "/runs"
		if len(ids) == 1 {
			v.Subject, v.Back = ids[0], runPath(ids[0])
		}
		for _, id := range ids {
			v.hide("run", id)
			command = append(command, shellQuote(id))
		}
	} else {
		v.Subject, v.Back = f.words(), f.address("", false)
		v.hide(f.pairs()...)
		narrow := f
		if v.Name != operations.Cancel {
			narrow.States = nil // the command takes dead runs only
		}
		command = append(command, narrow.flags()...)
	}
	for _, o := range []struct {
		set        bool
		name, flag string
	}{{a.Force, "force", "--force"}, {a.MayDouble, "mayDouble", "--may-double"},
		{a.IncludeAcknowledged, "includeAcknowledged", "--include-acknowledged"}} {
		if o.set {
			v.hide(o.name, "1")
			command = append(command, o.flag)
		}
	}
	v.CLI = strings.Join(command, " ") + why
}

// overrides are the fields by which an action takes the runs of a cause too. The action says who
// may set them.
var overrides = map[ledger.RejectionCause]struct {
	option, param string
	ask           operations.ActionRequest
}{
	ledger.RejectedAcknowledged: {"Take them too", "includeAcknowledged", operations.ActionRequest{IncludeAcknowledged: true}},
	ledger.RejectedRerun:        {"Take them too; their work may be done twice", "mayDouble", operations.ActionRequest{MayDouble: true}},
	ledger.RejectedUnfinished:   {"Start them beside it", "force", operations.ActionRequest{Force: true}},
}

// addLeftOut adds how many runs the action leaves out, by cause. A cause that an option overrides gets a link to the
// same page with that option, if the caller may use it.
func (d *Dashboard) addLeftOut(r *http.Request, v *actionView, done operations.RunActionResult, a ledger.Action) {
	for _, cause := range ledger.RejectionCauses {
		n := done.Counts.LeftOut[cause]
		if n == 0 {
			continue
		}
		words := overrides[cause]
		left := leftOut{Count: n, Why: cause.Text()}
		// Runs that are named are taken also if they are acknowledged, and only a redrive has overrides.
		taken := words.param == "includeAcknowledged" && len(a.IDs) > 0 || v.Name != operations.Redrive
		if words.param != "" && !taken && v.Permits(access.FromContext(r.Context()), words.ask) == nil {
			q := r.URL.Query()
			q.Set(words.param, "1")
			left.Option, left.Link = words.option, actionPath(v.Name)+"?"+q.Encode()
		}
		v.LeftOut = append(v.LeftOut, left)
	}
}

// why ends each command that a page shows. The user who copies the command writes the reason.
const why = " --why 'REASON'"
