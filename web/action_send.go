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
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Bounds of an action that a form asks for: the bytes of the form, and the time that it may take. A
// page may take pageTimeout; an action on many runs takes as many transactions as it needs.
const (
	maxForm       = 256 << 10
	actionTimeout = time.Minute
)

// postAction does what a form asks for, once however often it is sent, and leads to a page that
// says so.
func (d *Dashboard) postAction(w http.ResponseWriter, r *http.Request) {
	a, done, err := d.doForm(w, r)
	if refused := (*pageError)(nil); errors.As(err, &refused) {
		d.serve(w, r, func(*http.Request) (view, error) { return view{}, err })
		return
	}
	if err != nil || done.nothing() {
		d.serve(w, r, func(r *http.Request) (view, error) { return d.redisplayForm(r, done, err) })
		return
	}
	if by := r.PostForm.Get("by"); by != "" { // no identity is proven here: spare typing the name each time
		setCookie(w, nameCookie, base64.RawURLEncoding.EncodeToString([]byte(by)), nameFor)
	}
	notice, at := a.notice(r.PostForm, done)
	http.Redirect(w, r, keepNotice(w, notice, r.PostForm.Get("key"), at), http.StatusSeeOther)
}

// doForm does what a form asks for. A pageError refuses the form.
func (d *Dashboard) doForm(w http.ResponseWriter, r *http.Request) (a action, done actionResult, err error) {
	if a, err = d.actionOf(r); err != nil {
		return a, done, err
	}
	// A browser sends its credentials also with a form that another site made.
	if http.NewCrossOriginProtection().Check(r) != nil {
		return a, done, &pageError{http.StatusForbidden, "The form comes from another site.", "Nothing was done. Open the page here."}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err = r.ParseForm()
	if err == nil {
		_, err = idempotency.ParseKey(r.PostForm.Get("key"))
	}
	if err != nil {
		return a, done, invalid("The form cannot be read.", "Go back and send it again.")
	}
	ask, err := a.request(r.PostForm, d.now())
	if err != nil {
		return a, done, err
	}
	by := operations.Caller{Identity: access.FromContext(r.Context()), Via: ledger.ViaDashboard, Key: r.PostForm.Get("key")}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), actionTimeout) // a browser that goes does not stop an action halfway
	defer cancel()
	done, err = d.doAction(ctx, a, ask, by)
	return a, done, err
}

// doAction makes the requests of a form: as many as it takes to change its limit of runs, or to run
// all its scheduled times. Their keys follow from the form's, so that a form that is sent again
// repeats the requests that were done and makes those that were not.
func (d *Dashboard) doAction(ctx context.Context, a action, ask operations.ActionRequest, by operations.Caller) (done actionResult, err error) {
	key, requests := by.Key, 0
	request := func(ctx context.Context, part operations.ActionRequest, answer any) error {
		part.ID, part.Series = ask.ID, ""
		if ask.Limit != nil || !ask.From.IsZero() {
			part.Series = key
		}
		if requests++; requests > 1 {
			by.Key = fmt.Sprintf("%s-%d", key, requests-1)
		}
		got, err := d.Operations.Do(ctx, a.Action, part, by)
		if err != nil {
			return err
		}
		return json.Unmarshal(got.Body, answer)
	}
	if a.do != nil {
		return a.do(ctx, ask, request)
	}
	err = request(ctx, ask, &done)
	return done, err
}

// requester makes one request of an action, and reads the answer into a value.
type requester func(ctx context.Context, ask operations.ActionRequest, answer any) error

// doRuns changes all runs that a form selects, up to its limit, in as many requests as they need. Each is one
// transaction.
func doRuns(ctx context.Context, ask operations.ActionRequest, request requester) (actionResult, error) {
	all, err := operations.ActOnAll(ctx, ask, func(ctx context.Context, part operations.ActionRequest) (v operations.RunActionResult, err error) {
		err = request(ctx, part, &v)
		return v, err
	})
	return actionResult{Runs: &all}, err
}

// doBackfill plans all scheduled times of a form's span, in as many requests as they need.
func doBackfill(ctx context.Context, ask operations.ActionRequest, request requester) (actionResult, error) {
	b := operations.Backfill{From: ask.From, To: ask.To, Parallel: ask.Parallel, NewestFirst: ask.NewestFirst, NeverPlanned: ask.NeverPlanned,
		Actor: ledger.Actor{By: ask.By, Why: ask.Why}}
	all, err := operations.BackfillAll(ctx, b, func(ctx context.Context, part operations.ActionRequest) (v operations.Backfilled, err error) {
		err = request(ctx, part, &v)
		return v, err
	}, func(time.Time, operations.Backfilled) {})
	return actionResult{Planned: all.Planned}, err
}

// request reads the request that a form makes. Its error is a pageError, which says what to correct in the form.
func (a action) request(form url.Values, now time.Time) (ask operations.ActionRequest, err error) {
	ask = operations.ActionRequest{
		By: form.Get("by"), Why: form.Get("why"), Force: form.Get("force") != "", MayDouble: form.Get("mayDouble") != "",
		IncludeAcknowledged: form.Get("includeAcknowledged") != "", RunIDs: form["run"],
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
	if a.read != nil {
		a.read(&ask, form)
	}
	if a.subject != "" {
		if ask.ID = form.Get(a.subject); ask.ID == "" {
			return ask, missing("The form names no job, run or incident.", "Open the page of what you mean, and choose the action there.")
		}
	}
	return ask, nil
}

// redisplayForm returns the page of an action that was not done, with what was typed. The key of its form decides what
// sending it again does. After a refusal nothing was done, so newActionView's new key makes a new request. After an
// error it is not known what was done, so the form keeps its key: the request is repeated if it was done, and made if
// it was not.
func (d *Dashboard) redisplayForm(r *http.Request, done actionResult, why error) (view, error) {
	status, text, refused := http.StatusConflict, done.why(), (*operations.Error)(nil)
	switch {
	case errors.As(why, &refused):
		status, text = refused.Code.Status(), refused.Message
	case why != nil:
		d.Logger.Error("action failed", "path", r.URL.Path, "error", why)
		status = http.StatusServiceUnavailable
	}
	v, err := d.newActionView(r, r.PostForm)
	if err != nil && status == http.StatusServiceUnavailable { // the preview cannot read the ledger either
		v, err = sameAction(r, v), nil
	}
	if err != nil || status == http.StatusForbidden {
		return view{}, &pageError{status, sentenceOf(text), "Nothing was done."}
	}
	v.Problem, v.Why, v.By = sentenceOf(text), r.PostForm.Get("why"), r.PostForm.Get("by")
	switch {
	case refused != nil && refused.Code == operations.KeyMismatch:
		v.Problem = "This form was sent before, with other values, and was done then. Look at the page of what it acts on before you send it again."
	case status == http.StatusServiceUnavailable:
		v.Key = r.PostForm.Get("key")
		v.Problem = "The ledger did not answer in time, so this may have been done or not. Send the form again from this page: it is done once."
	}
	out := v.view()
	out.Status = status
	return out, nil
}

// sameAction returns an action's page with the form that was sent. It is for a ledger that cannot be read for a
// preview.
func sameAction(r *http.Request, v *actionView) *actionView {
	same := &actionView{action: v.action, Back: "/", Button: "Send it again", Now: v.Now, NeedsBy: v.NeedsBy}
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
