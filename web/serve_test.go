package web_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestHeadersKeepOthersOut(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/", "/nowhere", "/assets/app.js"} {
		h := s.get(path).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if !strings.Contains(h.Get(name), want) {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
			}
		}
		if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: the policy is %s", path, h.Get("Content-Security-Policy"))
		}
	}
}

func TestPagesAnswerReadsOnly(t *testing.T) {
	s := newSite(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		s.board.ServeHTTP(w, httptest.NewRequest(method, "/jobs/hourly", strings.NewReader("x=1")))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d, want 405", method, w.Code)
		}
	}
}

// A page that says the same is not sent again; only relative times differ.
func TestAnUnchangedPageIsNotSentAgain(t *testing.T) {
	s := newSite(t)
	first := s.get("/keys")
	s.ShiftClock(3 * time.Second)
	again := s.get("/keys", "If-None-Match", first.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.body != "" {
		t.Errorf("%d with %d bytes, want 304 without any", again.Code, len(again.body))
	}
	s.now.PurgeWarning = "overdue"
	if changed := s.get("/keys", "If-None-Match", first.Header().Get("ETag")); changed.Code != http.StatusOK {
		t.Errorf("%d although the purge is overdue", changed.Code)
	}
}

func TestAssetsAreKeptByTheirContent(t *testing.T) {
	s := newSite(t)
	address := regexp.MustCompile(`/assets/app\.css\?[0-9a-f]+`).FindString(s.get("/").body)
	for path, want := range map[string]string{address: "immutable", "/assets/app.css": "no-cache", "/assets/app.css?other": "no-cache"} {
		got := s.get(path)
		if got.Code != http.StatusOK || !strings.Contains(got.Header().Get("Cache-Control"), want) || got.Header().Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("%s: %d, %v", path, got.Code, got.Header())
		}
	}
	if got := s.get("/assets/nothing.js"); got.Code != http.StatusNotFound {
		t.Errorf("an unknown asset: %d", got.Code)
	}
}
