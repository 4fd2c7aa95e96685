package web_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testfan"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// fanOut makes a run of hourly with 120 members, of which t007 and t042 are dead.
func (s *site) fanOut(started int) string {
	s.Helper()
	run := s.spec("hourly", 0)
	run.Call.Each = &ledger.Each{Path: "/v1/tenants", Max: 1000}
	run.Call.Path = "/v1/tenants/{{key}}"
	var keys []string
	for n := range 120 {
		keys = append(keys, fmt.Sprintf("t%03d", n))
	}
	testfan.Out(s, s.Ledger, run, "hourly", keys, started, func(key string) ledger.State {
		if key == "t007" || key == "t042" {
			return ledger.Dead
		}
		return ledger.Succeeded
	})
	return run.RunID
}

func runPage(id string) string { return "/runs/" + url.PathEscape(id) }

// The page of a run with members has a bar of their states, those that failed first, a search,
// and what redrives them.
func TestARunShowsItsMembers(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	id := s.fanOut(120)
	page := s.get(runPage(id)).body
	for _, text := range []string{
		`aria-label="120 members: 2 dead, 118 succeeded"`, `class="c dead"`, "is dead: not all of its members succeeded.",
		"HTTP 404: no such tenant", "/actions/redrive?parent=hourly%40", "format=csv&amp;run=hourly%40", "cronce runs members hourly@", "its list was fetched: 120 members",
		`<option value="not_succeeded">not succeeded</option>`,
	} {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q:\n%s", text, page)
		}
	}
	if dead, ok := strings.Index(page, ">t042<"), strings.Index(page, ">t000<"); dead < 0 || ok < dead {
		t.Errorf("t042 at %d, t000 at %d: those that failed come first", dead, ok)
	}
	seen := map[string]int{}
	for next := runPage(id); next != ""; {
		page := s.get(next).body
		for n := range 120 {
			key := fmt.Sprintf("t%03d", n)
			seen[key] += strings.Count(page, ">"+key+"<")
		}
		_, after, more := strings.Cut(page, `<a href="/runs/hourly@`)
		for more && !strings.Contains(after[:strings.Index(after, "<")], "Next") {
			_, after, more = strings.Cut(after, `<a href="/runs/hourly@`)
		}
		next = ""
		if more {
			path, _, _ := strings.Cut(after, "#")
			next = "/runs/hourly@" + strings.ReplaceAll(path, "&amp;", "&")
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s is on the pages %d times", key, n)
		}
	}
	s.has(runPage(id)+"?state=not_succeeded", ">t007<", `<option value="not_succeeded" selected>`)
	if found := s.get(runPage(id) + "?key=t01*").body; !strings.Contains(found, ">t011<") || strings.Contains(found, ">t042<") {
		t.Errorf("search: %s", found)
	}
	s.has(runPage(id)+"?key=nobody", "No member matches")
	s.has(runPage(id)+"?state=no", "Unknown state", "valid states")
	member, err := jobs.MemberRunID(id, "t007")
	must(t, err)
	s.has(runPage(member), `<code>t007</code> of <a class="id" href="`+runPage(id)+`"`)
	s.has("/runs", "120 members")
	s.has("/", "1 dead run nobody has acknowledged", "not all of its members succeeded.")
	s.ShiftClock(30 * 24 * time.Hour) // each key may be forgotten, but the run sends nothing of its own
	if group := s.get("/jobs/hourly").body; !strings.Contains(group, "/actions/redrive?job=hourly") || strings.Contains(group, "send-before time has passed") {
		t.Errorf("the run cannot be redriven:\n%s", group)
	}
}

// A redrive of members says first what it will do, for all that are dead, and for their run.
func TestRedrivesOfMembersHaveAPreview(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	id := s.fanOut(120)
	s.has("/actions/redrive?state=dead&parent="+url.QueryEscape(id), "dead members of "+id, "Redrive 2 runs", `name="parent" value="`+id+`"`, "--parent</span> "+id)
	s.has("/actions/redrive?run="+url.QueryEscape(id), "Its 2 dead members", "the others are left")
	open := newSite(t)
	open.board.Actions = true
	id = open.fanOut(100)
	open.has(runPage(id), "2 dead, 20 not started, 98 succeeded")
	open.has("/actions/cancel?run="+url.QueryEscape(id), "Its 0 unfinished members end with it, and 20 are not started")
}
