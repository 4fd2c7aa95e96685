package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// actDone is the answer to an action of any kind.
type actDone struct {
	ID        int64                    `json:"id"`
	RunID     string                   `json:"runId"`
	JobID     string                   `json:"jobId"`
	Changed   []operations.Run         `json:"changed"`
	Refused   json.RawMessage          `json:"refused"` // a list, or a backfill's count
	Counts    *operations.ActionCounts `json:"counts"`
	Remaining int                      `json:"remaining"`
	Next      time.Time                `json:"next"`
	Planned   int                      `json:"planned"`
	Left      int                      `json:"left"`
}

// add adds the answer to a further request.
func (d *actDone) add(part actDone) {
	planned, left := d.Planned+part.Planned, d.Left+part.Left
	if d.Counts == nil {
		*d = part
		d.Planned, d.Left = planned, left
		return
	}
	d.Changed, d.Remaining, d.Refused = append(d.Changed, part.Changed...), part.Remaining, part.Refused
	d.Counts.Changed += part.Counts.Changed
	for cause, n := range part.Counts.LeftOut {
		d.Counts.LeftOut[cause] += n
	}
}

func (d actDone) changed() int {
	if d.Counts == nil {
		return 0
	}
	return d.Counts.Changed
}

// nothing reports whether an action on runs changed none.
func (d actDone) nothing() bool { return d.Counts != nil && d.Counts.Changed == 0 }

// why is why no run was changed.
func (d actDone) why() string {
	var refused []operations.Rejection
	if err := json.Unmarshal(d.Refused, &refused); err == nil && len(refused) > 0 {
		return "Nothing was changed: " + refused[0].Why
	}
	return "Nothing was changed: no run matches any more."
}

// told is what the next page says was done, and which page that is.
func (d actDone) told(name string, form url.Values) (n notice, path string) {
	job, ids := form.Get("job"), form["run"]
	switch name {
	case "pause":
		return notice{"Paused. Scheduled times from now on are skipped.", "Resume it again", actPath("resume", "job", job)}, jobPath(job)
	case "resume":
		return notice{"Resumed. Scheduled times from now on run.", "Pause it again", actPath("pause", "job", job)}, jobPath(job)
	case "trigger":
		return notice{"Triggered: this is the new run.", "Cancel it", actPath("cancel", "run", d.RunID)}, runPath(d.RunID)
	case "rerun":
		return notice{"Rerun: this is the new run.", "Cancel it", actPath("cancel", "run", d.RunID)}, runPath(d.RunID)
	case operations.AddPause:
		return notice{"Paused until " + form.Get("until") + ".", "End it again",
			actPath(operations.EndPause, "pause", strconv.FormatInt(d.ID, 10))}, "/pauses"
	case operations.ChangePause:
		return notice{Text: "Changed."}, "/pauses"
	case operations.EndPause:
		return notice{Text: "Ended. Scheduled times from now on run."}, "/pauses"
	case operations.AckIncident:
		return notice{Text: "Acknowledged. The incident asks for no attention until it closes."}, jobPath(d.JobID)
	case "backfill":
		undo := actPath("cancel", "job", job, "state", "planned,retrying", "since", form.Get("from"), "until", secondAfter(form.Get("to")))
		return notice{"Backfill: " + counted(d.Planned, "scheduled time") + " planned.", "Cancel those that have not run", undo}, jobPath(job)
	}
	n.Text = doneWords[name] + " " + counted(d.Counts.Changed, "run") + d.leftOut() + "."
	n.Undo, n.Link = undoOf(name, d.Changed)
	if one := cmp.Or(strings.Join(ids, " "), form.Get("parent")); len(ids) < 2 && one != "" {
		return n, runPath(one)
	}
	return n, runsPath("job", job, "state", form.Get("state"), "reason", form.Get("reason"), "since", form.Get("since"), "until",
		form.Get("until"))
}

var doneWords = map[string]string{"redrive": "Redrove", "cancel": "Canceled", "ack": "Acknowledged"}

func (d actDone) leftOut() string {
	var parts []string
	for _, cause := range ledger.RejectionCauses {
		if n := d.Counts.LeftOut[cause]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(n), cause.Text()))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; left out: " + strings.Join(parts, ", ")
}

// undoneAtOnce is the maximum number of runs in the link that undoes an action.
const undoneAtOnce = 20

// undoOf is the action that undoes an action on runs, where there is one.
func undoOf(name string, changed []operations.Run) (label, path string) {
	switch {
	case name == "redrive" && len(changed) <= undoneAtOnce:
		q := url.Values{}
		for _, r := range changed {
			q.Add("run", r.RunID)
		}
		return "Cancel what is unfinished", "/act/cancel?" + q.Encode()
	case name == "cancel" && len(changed) == 1 && !ledger.IsAdHoc(changed[0].RunID):
		at := changed[0].ScheduledAt
		return "Run it after all", actPath("backfill", "job", changed[0].JobID, "from", at, "to", at)
	}
	return "", ""
}

func secondAfter(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return t.Add(time.Second).Format(time.RFC3339)
}
