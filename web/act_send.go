package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Bounds of an action that a form asks for: the bytes of the form, and the time that it may take.
const (
	maxForm   = 256 << 10
	actWithin = time.Minute
)

// send does what a form asks, once however often it is sent.
func (d *Dashboard) send(w http.ResponseWriter, r *http.Request) {
	done, err := d.sent(w, r)
	if again := (*pageError)(nil); errors.As(err, &again) {
		d.serve(w, r, func(*http.Request) (view, error) { return view{}, err })
		return
	}
	if err != nil || done.nothing() {
		d.serve(w, r, func(r *http.Request) (view, error) { return d.sendAgain(r, done, err) })
		return
	}
	if by := r.PostForm.Get("by"); by != "" {
		setCookie(w, nameCookie, base64.RawURLEncoding.EncodeToString([]byte(by)), nameFor)
	}
	notice, at := done.told(r.PathValue("act"), r.PostForm)
	http.Redirect(w, r, keepNotice(w, notice, r.PostForm.Get("key"), at), http.StatusSeeOther)
}

// sent does what a form asks. A pageError refuses the form.
func (d *Dashboard) sent(w http.ResponseWriter, r *http.Request) (done actDone, err error) {
	a, err := d.actOf(r)
	if err != nil {
		return done, err
	}
	if http.NewCrossOriginProtection().Check(r) != nil {
		return done, &pageError{http.StatusForbidden, "The form comes from another site.", "Nothing was done. Open the page here."}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err = r.ParseForm()
	if err == nil {
		_, err = idempotency.ParseKey(r.PostForm.Get("key"))
	}
	if err != nil {
		return done, invalid("The form cannot be read.", "Go back and send it again.")
	}
	ask, err := askOf(a.Name, r.PostForm, d.now())
	if err != nil {
		return done, err
	}
	by := operations.Caller{Identity: access.FromContext(r.Context()), Via: ledger.ViaDashboard, Key: r.PostForm.Get("key")}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), actWithin) // a browser that goes does not stop an action halfway
	defer cancel()
	return d.do(ctx, a.Action, ask, by)
}

// do makes the requests that a form stands for: as many as it takes to change its limit of
// runs, or to run all its scheduled times. Their keys follow from the form's.
func (d *Dashboard) do(ctx context.Context, a operations.Action, ask operations.ActionRequest, by operations.Caller) (all actDone, err error) {
	key, left := by.Key, 0
	if ask.Limit != nil {
		left = *ask.Limit
	}
	if ask.Limit != nil || !ask.From.IsZero() {
		ask.Series = key
	}
	for part := 1; ; part++ {
		if ask.Limit != nil {
			ask.Limit = new(min(left, operations.MaxPart))
		}
		var done actDone
		answer, err := d.Operations.Do(ctx, a, ask, by)
		if err == nil {
			err = json.Unmarshal(answer.Body, &done)
		}
		if err != nil {
			return all, err
		}
		all.add(done)
		left -= done.changed()
		if ask.NewestFirst {
			ask.To = done.Next
		} else {
			ask.From = done.Next
		}
		if done.Remaining == 0 || left <= 0 && done.Next.IsZero() {
			return all, nil
		}
		by.Key = fmt.Sprintf("%s-%d", key, part)
	}
}

// askOf returns the request that a form makes.
func askOf(name string, form url.Values, now time.Time) (ask operations.ActionRequest, err error) {
	ask = operations.ActionRequest{
		By: form.Get("by"), Why: form.Get("why"), Force: form.Get("force") != "", MayDouble: form.Get("mayDouble") != "",
		IncludeAcknowledged: form.Get("includeAcknowledged") != "", NewKey: name == "rerun", RunIDs: form["run"],
		NewestFirst: form.Get("newestFirst") != "", NeverPlanned: form.Get("neverPlanned") != "",
	}
	if ask.Parallel, err = parallelOf(form.Get("parallel")); err != nil {
		return ask, err
	}
	for field, at := range map[string]*time.Time{"from": &ask.From, "to": &ask.To, "since": &ask.Since, "until": &ask.Until} {
		if text := form.Get(field); text != "" {
			if *at, err = parseTime(text, now); err != nil {
				return ask, err
			}
		}
	}
	switch name {
	case "redrive", "cancel", "ack":
		ask.Selection, ask.Reason, ask.Parent = selectionOf(form), ledger.Reason(form.Get("reason")), form.Get("parent")
		if text := form.Get("state"); text != "" {
			for _, s := range strings.Split(text, ",") {
				ask.State = append(ask.State, ledger.State(s))
			}
		}
		if limit, err := strconv.Atoi(form.Get("limit")); err == nil {
			ask.Limit = &limit
		}
		return ask, nil
	case "rerun":
		ask.ID = form.Get("run")
	case operations.AckIncident:
		ask.ID = form.Get("incident")
	case operations.AddPause:
		ask.Selection, ask.Kind, ask.All = selectionOf(form), ledger.PauseKind(form.Get("kind")), form.Get("all") != ""
		return ask, nil
	case operations.ChangePause, operations.EndPause:
		ask.ID = form.Get("pause")
	default:
		ask.ID = form.Get("job")
	}
	if ask.ID == "" {
		return ask, missing("The form names no job, run or incident.", "Open the page of what you mean, and choose the action there.")
	}
	return ask, nil
}

// sendAgain is the page of an action whose form was refused, with what was typed.
func (d *Dashboard) sendAgain(r *http.Request, done actDone, why error) (view, error) {
	status, text, refused := http.StatusConflict, done.why(), (*operations.Error)(nil)
	switch {
	case errors.As(why, &refused):
		status, text = refused.Code.Status(), refused.Message
	case why != nil:
		d.Logger.Error("action failed", "path", r.URL.Path, "error", why)
		status = http.StatusServiceUnavailable
	}
	v, err := d.newAct(r, r.PostForm)
	if err != nil && status == http.StatusServiceUnavailable {
		v, err = sameAct(r, v), nil
	}
	if err != nil || status == http.StatusForbidden {
		return view{}, &pageError{status, sentenceOf(text), "Nothing was done."}
	}
	v.Problem, v.Why, v.By = sentenceOf(text), r.PostForm.Get("why"), r.PostForm.Get("by")
	switch {
	case refused != nil && refused.Code == operations.KeyMismatch:
		v.Problem = "This form was sent before, with other values, and was done then. Look at the page of what it acts on before you send it again."
	case status == http.StatusServiceUnavailable:
		v.Key, v.Problem = r.PostForm.Get("key"), "The ledger did not answer in time, so this may have been done or not. Send the form again from this page: it is done once."
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
