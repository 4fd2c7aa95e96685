package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// actionForm holds what the dashboard has for an action: its page, its form, and the notice of the next page.
type actionForm struct {
	// preview fills in what the action will do. It may call the ledger, and changes nothing there. It sets Refused if the
	// action cannot be done, and the hidden fields of the form, which request reads back.
	preview func(*Dashboard, *http.Request, *actionView) error
	// subject is the field of the form that names what the action is for; "": the form has a
	// selection.
	subject string
	// read adds the fields that only this action has to the request; nil: it has none.
	read func(*operations.ActionRequest, url.Values)
	// do makes the requests of an action that may take several; nil: it takes one.
	do func(context.Context, operations.ActionRequest, requester) (actionResult, error)
	// notice says what was done and what undoes it, on the page at path.
	notice func(form url.Values, done actionResult) (n notice, path string)
}

// actionForms has a row for each of operations.Actions, by its name. A test names a row that is missing.
var actionForms = map[string]actionForm{
	operations.PauseJob:   {preview: (*Dashboard).previewPause, subject: "job", notice: pausedNotice},
	operations.ResumeJob:  {preview: (*Dashboard).previewResume, subject: "job", notice: resumedNotice},
	operations.TriggerJob: {preview: (*Dashboard).previewTrigger, subject: "job", notice: newRunNotice("Triggered")},
	operations.Rerun: {preview: (*Dashboard).previewRerun, subject: "run", notice: newRunNotice("Rerun"),
		read: func(ask *operations.ActionRequest, _ url.Values) { ask.NewKey = true }},
	operations.BackfillJob: {preview: (*Dashboard).previewBackfill, subject: "job", do: doBackfill, notice: backfillNotice},
	operations.AddPause:    {preview: (*Dashboard).previewAddPause, read: readPause, notice: addPauseNotice},
	operations.ChangePause: {preview: (*Dashboard).previewChangePause, subject: "pause", notice: textNotice("Changed.", "/pauses")},
	operations.EndPause: {preview: (*Dashboard).previewEndPause, subject: "pause",
		notice: textNotice("Ended. Scheduled times from now on run.", "/pauses")},
	operations.AckIncident: {preview: (*Dashboard).previewIncident, subject: "incident",
		notice: func(form url.Values, done actionResult) (notice, string) {
			return notice{Text: "Acknowledged. The incident asks for no attention until it closes."}, jobPath(done.JobID)
		}},
	operations.Redrive: onRuns("Each is sent again under its own key, with all its retries: a target that has done the work answers "+
		"from its store, and nothing is done twice.", "Redrove", undoRedrive),
	operations.Cancel: onRuns("Each ends as canceled. A call that is under way may still have its effect.", "Canceled", undoCancel),
	operations.Ack: onRuns("Each stays dead and counts as settled: it no longer asks for attention. This cannot be undone.",
		"Acknowledged", func([]operations.Run) (label, path string) { return "", "" }),
}

// onRuns returns an action on runs: what it does to each, what it did in a word, and the link that
// undoes it.
func onRuns(does, did string, undo func(changed []operations.Run) (label, path string)) actionForm {
	return actionForm{
		preview: func(d *Dashboard, r *http.Request, v *actionView) error {
			v.Lines = []string{does}
			return d.previewRuns(r, v)
		},
		read: readRuns,
		do:   doRuns,
		notice: func(form url.Values, done actionResult) (n notice, path string) {
			n.Text = did + " " + counted(done.Runs.Counts.Changed, "run") + done.leftOut() + "."
			n.Undo, n.Link = undo(done.Runs.Changed)
			return n, runsChanged(form)
		},
	}
}

// readRuns reads which runs a form selects. Its limit is the number of runs that its page showed,
// so that runs which have failed since are not changed unseen.
func readRuns(ask *operations.ActionRequest, form url.Values) {
	ask.Selection, ask.Reason, ask.Parent = selectionOf(form), ledger.Reason(form.Get("reason")), form.Get("parent")
	for _, s := range strings.Split(form.Get("state"), ",") {
		if s != "" {
			ask.State = append(ask.State, ledger.State(s))
		}
	}
	if limit, err := strconv.Atoi(form.Get("limit")); err == nil {
		ask.Limit = &limit
	}
}

// readPause reads what a form pauses. request has read from when and until when.
func readPause(ask *operations.ActionRequest, form url.Values) {
	ask.Selection, ask.Kind, ask.All = selectionOf(form), ledger.PauseKind(form.Get("kind")), form.Get("all") != ""
}
