package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

const maxForm = 256 << 10

// send does what a form asks: as the request of the API that the form stands for,
// from the same client. So the API's rules hold: who may do it, that it comes from
// this site, and that a form that is sent twice is done once.
func (d *Dashboard) send(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if _, err := d.actOf(r); err != nil {
		d.serve(w, r, func(*http.Request) (view, error) { return view{}, err })
		return
	}
	if err := r.ParseForm(); err != nil {
		d.serve(w, r, func(*http.Request) (view, error) {
			return view{}, invalid("The form cannot be read.", "Go back and send it again.")
		})
		return
	}
	name := r.PathValue("act")
	path, body, err := apiRequest(name, r.PostForm)
	if err != nil {
		d.serve(w, r, func(*http.Request) (view, error) { return view{}, err })
		return
	}
	answer := d.askAPI(r, path, r.PostForm.Get("key"), body)
	var done actDone
	if err := json.Unmarshal(answer.body.Bytes(), &done); err != nil {
		d.Logger.Error("API answer not understood", "path", path, "status", answer.status, "error", err)
	}
	if answer.status >= 300 || done.nothing() {
		d.serve(w, r, func(r *http.Request) (view, error) { return d.sendAgain(r, answer.status, done) })
		return
	}
	if by := r.PostForm.Get("by"); by != "" {
		rememberName(w, by)
	}
	notice, at := done.told(name, r.PostForm)
	http.Redirect(w, r, keepNotice(w, notice, r.PostForm.Get("key"), at), http.StatusSeeOther)
}

// apiRequest is the request that a form stands for.
func apiRequest(name string, form url.Values) (path string, body []byte, err error) {
	fields := map[string]any{"why": form.Get("why")}
	if by := form.Get("by"); by != "" {
		fields["by"] = by
	}
	for _, flag := range []string{"force", "mayDouble", "includeAcknowledged"} {
		if form.Get(flag) != "" {
			fields[flag] = true
		}
	}
	times := func(names ...string) error {
		for _, n := range names {
			if text := form.Get(n); text != "" {
				t, err := parseTime(text)
				if err != nil {
					return err
				}
				fields[n] = t.Format(time.RFC3339)
			}
		}
		return nil
	}
	ids := form["run"]
	switch {
	case name == "pause" || name == "resume" || name == "trigger":
		path = "/v1/jobs/" + url.PathEscape(form.Get("job")) + "/" + name
	case name == "backfill":
		path = "/v1/jobs/" + url.PathEscape(form.Get("job")) + "/" + name
		err = times("from", "to")
	case name == "rerun":
		path = "/v1/runs/" + url.PathEscape(form.Get("run")) + "/" + name
		fields["newKey"] = true
	case name == ackIncident:
		path = "/v1/incidents/" + url.PathEscape(form.Get("incident")) + "/ack"
	case len(ids) == 1:
		path = "/v1/runs/" + url.PathEscape(ids[0]) + "/" + name
	case len(ids) > 1:
		path = "/v1/runs/" + name
		fields["runIds"] = ids
	default:
		path = "/v1/runs/" + name
		err = times("since", "until")
		for _, n := range []string{"job", "reason"} {
			if text := form.Get(n); text != "" {
				fields[n] = text
			}
		}
		if text := form.Get("state"); text != "" {
			fields["state"] = strings.Split(text, ",")
		}
		if limit, err := strconv.Atoi(form.Get("limit")); err == nil {
			fields["limit"] = limit
		}
	}
	if err == nil && pathpkg.Clean(path) != path { // the API would send the client to another address
		err = missing("The form names no job, run or incident.", "Open the page of what you mean, and choose the action there.")
	}
	body, _ = json.Marshal(fields) // strings, numbers and booleans
	return path, body, err
}

// recorded is the API's answer.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *recorded) Header() http.Header { return a.header }

func (a *recorded) WriteHeader(status int) { a.status = status }

func (a *recorded) Write(p []byte) (int, error) { return a.body.Write(p) }

// askAPI makes a request of the API in the name of the client of a request.
func (d *Dashboard) askAPI(r *http.Request, path, key string, body []byte) *recorded {
	inner := r.Clone(access.WithVia(r.Context(), string(ledger.ViaDashboard)))
	inner.URL, _ = url.Parse(path) // its parts are escaped
	inner.RequestURI = path
	inner.Header.Set("Content-Type", "application/json")
	inner.Header.Set("Idempotency-Key", key)
	inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer := &recorded{header: http.Header{}, status: http.StatusOK}
	d.API.ServeHTTP(answer, inner)
	return answer
}

// sendAgain is the page of an action whose form was refused, with what was typed.
func (d *Dashboard) sendAgain(r *http.Request, status int, done actDone) (view, error) {
	if status < 300 {
		status = http.StatusConflict
	}
	if done.Code == "" && done.Detail == "" {
		done.Detail = done.why()
	}
	v, err := d.newAct(r, r.PostForm)
	if err != nil && status == http.StatusServiceUnavailable {
		v, err = sameAct(r, v), nil
	}
	if err != nil || done.Code == "forbidden" {
		return view{}, &pageError{status, sentenceOf(done.Detail), "Nothing was done."}
	}
	v.Problem, v.Why, v.By = sentenceOf(done.Detail), r.PostForm.Get("why"), r.PostForm.Get("by")
	switch {
	case done.Code == "idempotency_key_mismatch" || strings.Contains(done.Code, "mismatch"):
		v.Problem = "This form was sent before, with other values, and was done then. Look at the page of what it acts on before you send it again."
	case status == http.StatusServiceUnavailable:
		v.Key, v.Problem = r.PostForm.Get("key"), "The ledger did not answer in time, so this may have been done or not. Send the form again from this page: it is done once."
	case status == http.StatusConflict && strings.Contains(done.Code, "progress"):
		v.Key = r.PostForm.Get("key")
	}
	out := v.view()
	out.Status = status
	return out, nil
}

// sameAct is an action's page with the form that was sent, where the ledger cannot be read
// for a preview.
func sameAct(r *http.Request, v *actView) *actView {
	same := &actView{act: v.act, Back: "/", Button: "Send it again", Now: v.Now, NeedsBy: v.NeedsBy}
	same.Lines = []string{"What was asked for. The ledger cannot be read now, so there is no preview."}
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		if name == "key" || name == "why" || name == "by" {
			continue
		}
		for _, value := range r.PostForm[name] {
			same.hide(name, value)
			same.Lines = append(same.Lines, name+": "+value)
		}
	}
	return same
}

// actDone is what the API answers, of any action: a result or a problem.
type actDone struct {
	RunID   string                   `json:"runId"`
	JobID   string                   `json:"jobId"`
	Changed []operations.Run         `json:"changed"`
	Refused json.RawMessage          `json:"refused"` // a list, or a backfill's count
	Counts  *operations.ActionCounts `json:"counts"`
	Planned int                      `json:"planned"`
	Left    int                      `json:"left"`
	Detail  string                   `json:"detail"`
	Code    string                   `json:"code"`
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
	case ackIncident:
		return notice{Text: "Acknowledged. The incident asks for no attention until it closes."}, jobPath(d.JobID)
	case "backfill":
		undo := actPath("cancel", "job", job, "state", "planned,retrying", "since", form.Get("from"), "until", secondAfter(form.Get("to")))
		return notice{"Backfill: " + counted(d.Planned, "scheduled time") + " planned.", "Cancel those that have not run", undo}, jobPath(job)
	}
	n.Text = doneWords[name] + " " + counted(d.Counts.Changed, "run") + d.leftOut() + "."
	n.Undo, n.Link = undoOf(name, d.Changed)
	if len(ids) == 1 {
		return n, runPath(ids[0])
	}
	return n, runsPath("job", job, "state", form.Get("state"), "reason", form.Get("reason"), "since", form.Get("since"), "until", form.Get("until"))
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

// undoneAtOnce is how many runs the link that undoes an action names.
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
	t, err := parseTime(text)
	if err != nil {
		return ""
	}
	return t.Add(time.Second).Format(time.RFC3339)
}
