package web_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// send sends a form as somebody.
func (s *site) send(name string, who access.Identity, form url.Values, header ...string) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequest(http.MethodPost, "/actions/"+name, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.board.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), who)))
	return w
}

// A form is done in the client's name, if that may, and once however often it is sent.
func TestAFormIsDoneOnceInTheClientsName(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	s.die("hourly", 0, 0, ledger.ReasonPermanent)
	id := s.id("hourly", 0)
	form := url.Values{"key": {"a-key-of-the-form"}, "run": {id}, "why": {"seen"}, "by": {"ann"}}
	for _, role := range []access.Role{access.None, access.Viewer} {
		if w := s.send("ack", access.Identity{Role: role}, form); w.Code != http.StatusForbidden {
			t.Errorf("a %s's form: %d", role, w.Code)
		}
	}
	if w := s.send("ack", access.Identity{Role: access.Operator}, form, "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", w.Code)
	}
	for range 2 {
		w := s.send("ack", access.Identity{Role: access.Operator}, form)
		if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/runs/"+url.PathEscape(id)+"?done=") {
			t.Errorf("answered %d, to %q", w.Code, to)
		}
	}
	actions, err := s.Audit(t.Context(), ledger.AuditFilter{})
	must(t, err)
	if len(actions) != 1 || actions[0].Via != ledger.ViaDashboard || actions[0].By != "ann" || actions[0].RunID != id {
		t.Errorf("the audit has %+v", actions)
	}
}

// A form on more runs than one request may change is one action of as many as its page shows.
func TestAFormOnManyRunsIsOneAction(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	const n = operations.MaxPart + 3
	for i := range n + 2 {
		e := ledger.Entry{JobID: "hourly", RunSpec: s.spec("hourly", 0)}
		e.RunID, e.Trigger, e.Lease = fmt.Sprintf("%s~%d", e.RunID, i), ledger.ByOperator, false
		_, err := s.Enter(t.Context(), e)
		must(t, err)
	}
	form := url.Values{"key": {"k"}, "job": {"hourly"}, "why": {"seen"}, "by": {"ann"}, "limit": {strconv.Itoa(n)}}
	for range 2 {
		if w := s.send("cancel", access.Identity{Role: access.Operator}, form); w.Code != http.StatusSeeOther {
			t.Fatalf("%d\n%s", w.Code, w.Body)
		}
	}
	actions, err := s.Audit(t.Context(), ledger.AuditFilter{By: "ann"})
	must(t, err)
	runs, err := s.List(t.Context(), ledger.Filter{States: []ledger.State{ledger.Planned}})
	must(t, err)
	if len(actions) != 1 || actions[0].Action != ledger.ActionCancel || actions[0].Count != n || len(runs) != 2 {
		t.Errorf("the audit has %+v, and %d runs are left", actions, len(runs))
	}
}

// A filter may have states that cannot be canceled; the action takes the others.
func TestOnlyUnfinishedStatesAreOfferedForCancel(t *testing.T) {
	s := newSite(t)
	s.board.Actions, s.role = true, access.Admin
	s.day()
	got := s.get("/runs?job=hourly&state=dead&state=planned&state=running")
	_, link, _ := strings.Cut(got.body, "/actions/cancel?")
	link, _, _ = strings.Cut(link, `"`)
	q, err := url.ParseQuery(html.UnescapeString(link))
	must(t, err)
	if q.Get("state") != "planned,running" || q.Get("job") != "hourly" {
		t.Fatalf("the link to cancel has %v\n%s", q, got.body)
	}
	for query, refused := range map[string]bool{q.Encode(): false, "job=hourly&state=dead": true} {
		page := s.get("/actions/cancel?" + query)
		if page.Code != http.StatusOK || strings.Contains(page.body, "cannot be canceled") != refused {
			t.Errorf("%s: %d, refused should be %t\n%s", query, page.Code, refused, page.body)
		}
	}
}

// A page claims no action that its browser did not make.
func TestANoticeIsOfThisBrowser(t *testing.T) {
	s := newSite(t)
	if got := s.get("/jobs?done=0123"); strings.Contains(got.body, `class="notice"`) {
		t.Error("an address alone makes a notice")
	}
	r := httptest.NewRequest(http.MethodGet, "/jobs?done=0123", nil)
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"Text":"<b>done</b>","Undo":"u","Link":"https://evil.example/"}`))
	r.AddCookie(&http.Cookie{Name: "cronce-done-0123", Value: text})
	w := httptest.NewRecorder()
	s.board.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), access.Identity{Role: access.Viewer})))
	if body := w.Body.String(); !strings.Contains(body, "&lt;b&gt;done&lt;/b&gt;") || strings.Contains(body, "evil.example") || strings.Contains(body, "<b>done") {
		t.Errorf("a notice that another site wrote: %s", body)
	}
}

// A scheduled time that did not run is offered a backfill, which runs it under its own
// key; never a rerun, which makes new work.
func TestWhatDidNotRunIsOfferedABackfill(t *testing.T) {
	s := newSite(t)
	s.board.Actions, s.role = true, access.Admin
	states := []ledger.State{ledger.Skipped, ledger.Missed, ledger.Superseded}
	for i, state := range states {
		s.admit("hourly", ledger.RunSpec{
			RunID: s.id("hourly", i), ScheduledAt: s.time("hourly", i), Count: 1, State: state, Reason: ledger.ReasonPaused, Trigger: ledger.BySchedule,
		})
	}
	several := s.rangeSpec("hourly", len(states), len(states)+5, ledger.Missed, ledger.ReasonCatchUpWindow)
	s.admit("hourly", several)
	link := func(from, to time.Time) string {
		return "/actions/backfill?" + url.Values{"job": {"hourly"}, "from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)}}.Encode()
	}
	if got := s.get(link(several.ScheduledAt, several.Until)).body; !strings.Contains(got, "How long they take is not known") {
		t.Errorf("the preview of a job that never succeeded does not say that its time is unknown:\n%s", got)
	}
	s.record(s.admit("hourly", s.spec("hourly", len(states)+6))[0], ledger.Succeeded, "", ledger.Attempt{Answer: ledger.AnswerFresh, Status: 200})
	if got := s.get(link(several.ScheduledAt, several.Until)).body; !strings.Contains(got, "One after the other they take ") {
		t.Errorf("the preview does not say how long it takes:\n%s", got)
	}
	want := map[string]string{several.RunID: link(several.ScheduledAt, several.Until), s.id("hourly", len(states)+6): ""}
	for i := range states {
		want[s.id("hourly", i)] = link(s.time("hourly", i), s.time("hourly", i))
	}
	for id, path := range want {
		got := html.UnescapeString(s.get("/runs/" + url.PathEscape(id)).body)
		if strings.Contains(got, `href="/actions/backfill`) != (path != "") || !strings.Contains(got, `href="`+path+`"`) && path != "" {
			t.Errorf("%s: want the link %q:\n%s", id, path, got)
		}
		if offered := strings.Contains(got, `href="/actions/rerun`); offered != (path == "") {
			t.Errorf("%s: a rerun is offered: %v", id, offered)
		}
		s.role = access.Viewer
		if got := s.get("/runs/" + url.PathEscape(id)).body; strings.Contains(got, `href="/actions/`) {
			t.Errorf("%s: offers a viewer an action", id)
		}
		s.role = access.Admin
	}
}

// A form that names nothing is refused.
func TestAFormThatNamesNothingIsRefused(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	for form, want := range map[string]string{
		"pause job=": "names no job, run or incident", "rerun run=": "names no job, run or incident", "ack-incident incident=": "names no job, run or incident",
		"pause job=.": "unknown job", "trigger job=..": "unknown job", "backfill from=2026-01-01T00:00:00Z&job=..": "unknown job",
	} {
		name, fields, _ := strings.Cut(form, " ")
		q, err := url.ParseQuery(fields + "&key=a-key&why=w&by=b")
		must(t, err)
		if w := s.send(name, access.Identity{Role: access.Admin}, q); w.Code != http.StatusNotFound || !strings.Contains(strings.ToLower(w.Body.String()), want) {
			t.Errorf("%s: %d\n%s", form, w.Code, w.Body)
		}
	}
}

// A form's key is bounded as the API's is: it is kept with the action, in an index.
func TestAFormWithABadKeyIsRefused(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	for _, key := range []string{"", "a\x00b", "a\nb", strings.Repeat("k", 129)} {
		form := url.Values{"key": {key}, "job": {"hourly"}, "why": {"w"}, "by": {"b"}}
		if w := s.send("trigger", access.Identity{Role: access.Operator}, form); w.Code != http.StatusBadRequest {
			t.Errorf("key %.10q: %d", key, w.Code)
		}
	}
}

// After an answer that leaves open what was done, the same form is sent again under the
// same key, even if the ledger cannot be read.
func TestAnUnknownOutcomeIsAskedForAgain(t *testing.T) {
	s := newSite(t)
	s.board.Actions, s.lost = true, ledger.ErrUnavailable
	for _, down := range []error{nil, errors.New("connection refused")} {
		s.down = down
		w := s.send("trigger", access.Identity{Name: "ann", Role: access.Operator}, url.Values{"key": {"the-first-key"}, "job": {"hourly"}, "why": {"a <b>reason</b>"}})
		for _, want := range []string{
			"may have been done or not", `action="/actions/trigger" method="post"`, `name="key" value="the-first-key"`, `name="job" value="hourly"`, "a &lt;b&gt;reason&lt;/b&gt;",
		} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("ledger down (%v): no %q:\n%s", down, want, w.Body)
			}
		}
		if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "Nothing was done") {
			t.Errorf("ledger down (%v): %d\n%s", down, w.Code, w.Body)
		}
	}
}

// A form that was refused is a new request when it is sent again, and so is one whose key
// has done something else.
func TestARefusedFormGetsANewKey(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	ann := access.Identity{Name: "ann", Role: access.Operator}
	form := url.Values{"key": {"the-first-key"}, "job": {"hourly"}, "why": {"asked"}}
	if w := s.send("trigger", ann, form); w.Code != http.StatusSeeOther {
		t.Fatalf("%d\n%s", w.Code, w.Body)
	}
	for name, f := range map[string]url.Values{
		"another reason":   {"key": {"the-first-key"}, "job": {"hourly"}, "why": {"another"}},
		"without a reason": {"key": {"key"}, "job": {"hourly"}, "why": {" "}},
	} {
		w := s.send("trigger", ann, f)
		if w.Code < 400 || w.Code >= 500 || !strings.Contains(w.Body.String(), `name="key" value="`) || strings.Contains(w.Body.String(), `name="key" value="`+f.Get("key")) {
			t.Errorf("%s: %d\n%s", name, w.Code, w.Body)
		}
	}
}
