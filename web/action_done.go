package web

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// actionResult is the answer to an action. Each kind of action has its own of the fields.
type actionResult struct {
	ID      int64                       `json:"id"`    // of a new pause
	RunID   string                      `json:"runId"` // of a new run
	JobID   string                      `json:"jobId"`
	Planned int                         `json:"-"` // by a backfill
	Runs    *operations.RunActionResult `json:"-"` // of an action on runs
}

// nothing reports whether an action on runs changed none.
func (d actionResult) nothing() bool { return d.Runs != nil && d.Runs.Counts.Changed == 0 }

// why says why no run was changed: the reason of the first that was refused.
func (d actionResult) why() string {
	if d.Runs != nil && len(d.Runs.Refused) > 0 {
		return "Nothing was changed: " + d.Runs.Refused[0].Why
	}
	return "Nothing was changed: no run matches any more."
}

// leftOut says which runs an action left as they are, and why.
func (d actionResult) leftOut() string {
	var parts []string
	for _, cause := range ledger.RejectionCauses {
		if n := d.Runs.Counts.LeftOut[cause]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(n), cause.Text()))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; left out: " + strings.Join(parts, ", ")
}

// textNotice returns the notice of an action whose text and next page are always the same, and which no link undoes.
//
// It and the functions after it are the notices of the rows of actionForms. A notice has a link that undoes the action,
// or the nearest thing to that: a canceled run is not revived, and its scheduled time is run by a backfill.
func textNotice(text, path string) func(url.Values, actionResult) (notice, string) {
	return func(url.Values, actionResult) (notice, string) { return notice{Text: text}, path }
}

func pausedNotice(form url.Values, _ actionResult) (notice, string) {
	job := form.Get("job")
	return notice{"Paused. Its scheduled times are skipped until it is resumed.", "Resume it again", actionPath(operations.ResumeJob, "job", job)}, jobPath(job)
}

func resumedNotice(form url.Values, _ actionResult) (notice, string) {
	job := form.Get("job")
	return notice{"Resumed. Its scheduled times run again.", "Pause it again", actionPath(operations.PauseJob, "job", job)}, jobPath(job)
}

func newRunNotice(did string) func(url.Values, actionResult) (notice, string) {
	return func(_ url.Values, done actionResult) (notice, string) {
		return notice{did + ": this is the new run.", "Cancel it", actionPath(operations.Cancel, "run", done.RunID)}, runPath(done.RunID)
	}
}

func addPauseNotice(form url.Values, done actionResult) (notice, string) {
	return notice{"Paused until " + form.Get("until") + ".", "End it again",
		actionPath(operations.EndPause, "pause", strconv.FormatInt(done.ID, 10))}, "/pauses"
}

// backfillNotice undoes a backfill by canceling the planned runs of its span: their IDs are too many
// for an address.
func backfillNotice(form url.Values, done actionResult) (notice, string) {
	job := form.Get("job")
	undo := actionPath(operations.Cancel, "job", job, "state", "planned,retrying", "since", form.Get("from"), "until", secondAfter(form.Get("to")))
	return notice{"Backfill: " + counted(done.Planned, "scheduled time") + " planned.", "Cancel those that have not run", undo}, jobPath(job)
}

// secondAfter turns the last second of a span, included, into its end, excluded.
func secondAfter(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return t.Add(time.Second).Format(time.RFC3339)
}

// undoneAtOnce is the maximum number of runs in the link that undoes an action.
const undoneAtOnce = 20

// undoRedrive returns the link that cancels those of the redriven runs that have not ended. It returns none for more
// than undoneAtOnce runs, whose IDs would be too many for an address.
func undoRedrive(changed []operations.Run) (label, path string) {
	if len(changed) > undoneAtOnce {
		return "", ""
	}
	var pairs []string
	for _, r := range changed {
		pairs = append(pairs, "run", r.RunID)
	}
	return "Cancel what is unfinished", actionPath(operations.Cancel, pairs...)
}

// undoCancel returns the link that runs one canceled scheduled time after all. It returns none for several: a backfill
// of their span would also run the times between them.
func undoCancel(changed []operations.Run) (label, path string) {
	if len(changed) != 1 || ledger.IsAdHoc(changed[0].RunID) {
		return "", ""
	}
	at := changed[0].ScheduledAt
	return "Run it after all", actionPath(operations.BackfillJob, "job", changed[0].JobID, "from", at, "to", at)
}

// runsChanged returns the address of the run that an action was on, or of the list of all that its form selected.
func runsChanged(form url.Values) string {
	ids := form["run"]
	if one := cmp.Or(strings.Join(ids, " "), form.Get("parent")); len(ids) < 2 && one != "" {
		return runPath(one)
	}
	return runsPath("job", form.Get("job"), "state", form.Get("state"), "reason", form.Get("reason"), "since", form.Get("since"),
		"until", form.Get("until"))
}
