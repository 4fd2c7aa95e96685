package web_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cronce/cronce/api/access"
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
	s.board.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Identity{Role: access.Operator})))
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
		s.board.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Identity{Role: role})))
		if w.Code != want || len(asked) != 1 {
			t.Errorf("a %s's form: %d, and the API was asked %d times", role, w.Code, len(asked))
		}
	}
}

// A page claims no act that its browser did not make.
func TestANoticeIsOfThisBrowser(t *testing.T) {
	s := newSite(t)
	if got := s.get("/jobs?done=0123"); strings.Contains(got.body, `class="notice"`) {
		t.Error("an address alone makes a notice")
	}
	r := httptest.NewRequest(http.MethodGet, "/jobs?done=0123", nil)
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"Text":"<b>done</b>","Undo":"u","Link":"https://evil.example/"}`))
	r.AddCookie(&http.Cookie{Name: "cronce-done-0123", Value: text})
	w := httptest.NewRecorder()
	s.board.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Identity{Role: access.Viewer})))
	if body := w.Body.String(); !strings.Contains(body, "&lt;b&gt;done&lt;/b&gt;") || strings.Contains(body, "evil.example") || strings.Contains(body, "<b>done") {
		t.Errorf("a notice that another site wrote: %s", body)
	}
}
