package web_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/ledger"
)

// The dashboard asks the API in the client's name, once for each form.
func TestAFormIsARequestOfTheAPI(t *testing.T) {
	s := newSite(t)
	var asked []string
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must(t, err)
		asked = append(asked, r.Method+" "+r.URL.EscapedPath()+" "+r.Header.Get("Idempotency-Key")+" "+r.Header.Get("Sec-Fetch-Site")+" "+access.Via(r.Context())+" "+string(body))
		fmt.Fprint(w, `{"counts":{"changed":1,"leftOut":{}},"changed":[{"runId":"a@2026-01-01T00:00:00Z"}],"refused":[]}`)
	})
	s.board.API = api
	r := httptest.NewRequest(http.MethodPost, "/act/ack", strings.NewReader(url.Values{
		"key": {"a-key-of-the-form"}, "run": {"a@b/c"}, "why": {"seen"}, "by": {"ann"},
	}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	s.board.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), access.Identity{Role: access.Operator})))
	want := `POST /v1/runs/a@b%2Fc/ack a-key-of-the-form same-origin dashboard {"by":"ann","why":"seen"}`
	if len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
	to := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/runs/a@b%2Fc?done=") {
		t.Errorf("answered %d, to %q", w.Code, to)
	}
	for role, want := range map[access.Role]int{access.Viewer: http.StatusForbidden, access.None: http.StatusForbidden} {
		w := httptest.NewRecorder()
		s.board.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), access.Identity{Role: role})))
		if w.Code != want || len(asked) != 1 {
			t.Errorf("a %s's form: %d, and the API was asked %d times", role, w.Code, len(asked))
		}
	}
}

// A filter may have states that cannot be canceled; the action takes the others.
func TestOnlyUnfinishedStatesAreOfferedForCancel(t *testing.T) {
	s := newSite(t)
	s.board.API, s.role = http.NotFoundHandler(), access.Admin
	s.day()
	got := s.get("/runs?job=hourly&state=dead&state=planned&state=running")
	_, link, _ := strings.Cut(got.body, "/act/cancel?")
	link, _, _ = strings.Cut(link, `"`)
	q, err := url.ParseQuery(html.UnescapeString(link))
	must(t, err)
	if q.Get("state") != "planned,running" || q.Get("job") != "hourly" {
		t.Fatalf("the link to cancel has %v\n%s", q, got.body)
	}
	for query, refused := range map[string]bool{q.Encode(): false, "job=hourly&state=dead": true} {
		page := s.get("/act/cancel?" + query)
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
	s.board.API, s.role = http.NotFoundHandler(), access.Admin
	states := []ledger.State{ledger.Skipped, ledger.Missed, ledger.Superseded}
	for i, state := range states {
		s.admit("hourly", ledger.RunSpec{
			RunID: s.id("hourly", i), ScheduledAt: s.time("hourly", i), Count: 1, State: state, Reason: ledger.ReasonPaused, Trigger: ledger.BySchedule,
		})
	}
	several := s.rangeSpec("hourly", len(states), len(states)+5, ledger.Missed, ledger.ReasonCatchUpWindow)
	s.admit("hourly", several)
	s.record(s.admit("hourly", s.spec("hourly", len(states)+6))[0], ledger.Succeeded, "", ledger.Attempt{Answer: ledger.AnswerFresh, Status: 200})
	link := func(from, to time.Time) string {
		return "/act/backfill?" + url.Values{"job": {"hourly"}, "from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)}}.Encode()
	}
	want := map[string]string{several.RunID: link(several.ScheduledAt, several.Until), s.id("hourly", len(states)+6): ""}
	for i := range states {
		want[s.id("hourly", i)] = link(s.time("hourly", i), s.time("hourly", i))
	}
	for id, path := range want {
		got := html.UnescapeString(s.get("/runs/" + url.PathEscape(id)).body)
		if strings.Contains(got, `href="/act/backfill`) != (path != "") || !strings.Contains(got, `href="`+path+`"`) && path != "" {
			t.Errorf("%s: want the link %q:\n%s", id, path, got)
		}
		if offered := strings.Contains(got, `href="/act/rerun`); offered != (path == "") {
			t.Errorf("%s: a rerun is offered: %v", id, offered)
		}
		s.role = access.Viewer
		if got := s.get("/runs/" + url.PathEscape(id)).body; strings.Contains(got, `href="/act/`) {
			t.Errorf("%s: offers a viewer an act", id)
		}
		s.role = access.Admin
	}
}

// A form that names nothing is refused before the API is asked for another address.
func TestAFormThatNamesNothingIsRefused(t *testing.T) {
	s := newSite(t)
	s.board.API = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the API is asked for %s", r.URL) })
	for _, form := range []string{"pause job=", "pause job=.", "trigger job=..", "backfill job=..", "ack run=..", "rerun run=", "ack-incident incident=.."} {
		name, fields, _ := strings.Cut(form, " ")
		r := httptest.NewRequest(http.MethodPost, "/act/"+name, strings.NewReader(fields+"&key=a-key&why=w&by=b"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.board.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), access.Identity{Role: access.Admin})))
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "names no job, run or incident") {
			t.Errorf("%s: %d\n%s", form, w.Code, w.Body)
		}
	}
}

// After an answer that leaves open what was done, the same form is sent again under the
// same key, even if the ledger cannot be read.
func TestAnUnknownOutcomeIsAskedForAgain(t *testing.T) {
	s := newSite(t)
	s.board.API = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"code":"ledger_unavailable","detail":"the ledger did not answer in time"}`)
	})
	for _, down := range []error{nil, errors.New("connection refused")} {
		s.down = down
		form := url.Values{"key": {"the-first-key"}, "job": {"hourly"}, "why": {"a <b>reason</b>"}}
		r := httptest.NewRequest(http.MethodPost, "/act/trigger", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.board.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), access.Identity{Name: "ann", Role: access.Operator})))
		for _, want := range []string{
			"may have been done or not", `action="/act/trigger" method="post"`, `name="key" value="the-first-key"`, `name="job" value="hourly"`, "a &lt;b&gt;reason&lt;/b&gt;",
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

// A form whose first request still runs is sent again under its key. One that was
// refused is a new request when it is sent again: its key must not replay the refusal.
func TestAFormIsSentAgainUnderItsKeyOnlyWhileItRuns(t *testing.T) {
	for code, keeps := range map[string]bool{idempotency.CodeInProgress: true, idempotency.CodeMismatch: false, "refused": false} {
		s := newSite(t)
		s.board.API = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"code":%q,"detail":"not done"}`, code)
		})
		form := url.Values{"key": {"the-first-key"}, "job": {"hourly"}, "why": {"asked"}}
		r := httptest.NewRequest(http.MethodPost, "/act/trigger", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.board.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), access.Identity{Name: "ann", Role: access.Operator})))
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `name="key" value="`) {
			t.Fatalf("%s: %d\n%s", code, w.Code, w.Body)
		}
		if kept := strings.Contains(w.Body.String(), `name="key" value="the-first-key"`); kept != keeps {
			t.Errorf("%s: the form keeps its key: %t, want %t", code, kept, keeps)
		}
	}
}
