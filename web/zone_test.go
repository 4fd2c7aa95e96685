package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

func inZone(choice string) []string { return []string{"Cookie", "cronce-zone=" + choice} }

var (
	// utcTime is a time in UTC as pages write one.
	utcTime = regexp.MustCompile(`\d\d:\d\d(:\d\d)? UTC`)
	// ownTime is in the column of the job's own zone.
	ownTime = regexp.MustCompile(`<td>\w+ \d+ \w+ \d\d:\d\d UTC`)
)

func TestEveryTimeObeysTheChosenZone(t *testing.T) {
	s := newSite(t)
	s.day()
	s.board.Actions = true
	must(t, s.PauseJob(t.Context(), "paris", ledger.Actor{By: "ann", Why: "x", Via: ledger.ViaCLI}))
	list := append(paths, "/pauses", "/runs/"+s.id("hourly", 1), "/actions/pause?job=hourly", "/actions/resume?job=paris", "/actions/"+operations.AddPause+"?job=hourly&until=1h", "/jobs/hourly?at="+s.time("hourly", 1).Format("15:04"))
	for _, path := range list {
		got := s.get(path, inZone("Asia/Tokyo")...)
		if found := utcTime.FindString(ownTime.ReplaceAllString(got.body, "")); found != "" || got.Code != http.StatusOK {
			t.Errorf("%s: %d, with %q", path, got.Code, found)
		}
		if !strings.Contains(got.body, `<option value="Asia/Tokyo" selected>Asia/Tokyo</option>`) {
			t.Errorf("%s does not name the zone", path)
		}
	}
	if got := s.get("/", inZone("Nowhere/At_all")...); got.Code != http.StatusOK || !strings.Contains(got.body, " UTC") {
		t.Errorf("an unknown zone: %d", got.Code)
	}
}

func TestTheJobsZoneIsThatOfEachJob(t *testing.T) {
	s := newSite(t)
	s.admit("paris", s.spec("paris", 0))
	run := "/runs/" + s.id("paris", 0)
	j, _ := s.reg.Job("paris")
	local := s.time("paris", 0).In(j.ParsedSchedule().Location()).Format("2006-01-02 15:04:05 MST")
	for _, path := range []string{run, "/runs", "/jobs/paris"} {
		if got := s.get(path, inZone("job")...); !strings.Contains(got.body, local) {
			t.Errorf("%s does not have %s", path, local)
		}
	}
	s.has("/jobs/hourly", " UTC")
	for _, path := range []string{"/", "/jobs", "/targets/env:SVC_URL", "/audit"} {
		if got := s.get(path, inZone("job")...); got.Code != http.StatusOK {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// A time is read in the zone that the address names, so that the page, its export and its
// command mean the same to everybody.
func TestTimesAreReadInTheZoneOfTheAddress(t *testing.T) {
	s := newSite(t)
	s.day()
	s.board.Actions = true
	must(t, s.PauseJob(t.Context(), "paris", ledger.Actor{By: "ann", Why: "x", Via: ledger.ViaCLI}))
	for _, c := range []struct{ written, zone, cookie, read string }{
		{"2026-03-29 01:59", "Europe/Paris", "", "2026-03-29T00:59:00Z"},
		{"2026-03-29 03:00", "Europe/Paris", "", "2026-03-29T01:00:00Z"},
		{"2026-10-25 02:30", "Europe/Paris", "", "2026-10-25T00:30:00Z"}, // the first of two
		{"2026-10-25 03:00", "Europe/Paris", "", "2026-10-25T02:00:00Z"},
		{"2026-10-25 02:30", "", "Europe/Paris", "2026-10-25T02:30:00Z"}, // a link without a zone is UTC
		{"2026-10-25T02:30:00+01:00", "", "Europe/Paris", "2026-10-25T01:30:00Z"},
		{"2026-10-25 02:30", "", "job", "2026-10-25T02:30:00Z"},
	} {
		q := url.Values{"since": {c.written}}
		if c.zone != "" {
			q.Set("zone", c.zone)
		}
		got := s.get("/audit?"+q.Encode(), inZone(c.cookie)...)
		if want := "since=" + url.QueryEscape(c.read); got.Code != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%+v: %d, no export with %s", c, got.Code, want)
		}
	}
	form := s.get("/runs?since=2026-10-25+02:30&zone=Europe/Paris", inZone("Europe/Paris")...).body
	for _, want := range []string{`<input type="hidden" name="zone" value="Europe/Paris">`, "Since (Europe/Paris)", `value="2026-10-25T02:30:00&#43;02:00"`} {
		if !strings.Contains(form, want) {
			t.Errorf("the form does not have %s", want)
		}
	}
	if body := s.get("/runs?since=24h&zone=Europe/Paris").body; !strings.Contains(body, `value="24h"`) {
		t.Error("an age does not stay")
	}
}

func TestTheZoneIsKept(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct{ choice, back, kept, at string }{
		{"Europe/Paris", "/runs?state=dead", "cronce-zone=Europe/Paris; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax", "/runs?state=dead"},
		{"job", "https://evil.example/", "cronce-zone=job", "/"},
		{"job", "//evil.example/", "cronce-zone=job", "/"},
		{"job", `/\evil.example/`, "cronce-zone=job", "/"},
		{"", "/", "Max-Age=0", "/"},
		{"Local", "/", "", ""},
		{"Mars/Base", "/", "", ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/zone", strings.NewReader(url.Values{"zone": {c.choice}, "back": {c.back}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.board.ServeHTTP(w, r)
		if got := w.Header().Get("Set-Cookie"); !strings.Contains(got, c.kept) || (got == "") != (c.kept == "") || w.Header().Get("Location") != c.at {
			t.Errorf("%+v: %d, cookie %q, to %q", c, w.Code, got, w.Header().Get("Location"))
		}
	}
}
