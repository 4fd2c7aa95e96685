package api_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/testfan"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// parent makes a run with members: of t0 to t9 and three more, t3 and t7 are dead, Ann's runs,
// and the last one was not started.
func (s *site) parent() string {
	s.Helper()
	at := s.begin.Add(-10 * time.Minute).Truncate(time.Minute)
	id := jobs.RunID("tick", at)
	j, _ := s.reg.Job("tick")
	call := executor.FrozenCall(j, id, at)
	call.Each = &ledger.Each{Path: "/v1/tenants", Max: 100}
	call.Path = "/v1/tenants/{{key}}"
	keys := []string{"ann@example.com", "b/ü", "zed"}
	for n := range 10 {
		keys = append(keys, fmt.Sprint("t", n))
	}
	testfan.Out(s, s.store, ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow, Call: call,
	}, "tick", keys, len(keys)-1, func(key string) ledger.State {
		switch key {
		case "t3", "t7":
			return ledger.Dead
		case "ann@example.com":
			return ""
		}
		return ledger.Succeeded
	})
	return id
}

// members are the keys of a list, by pages of a size.
func (s *site) members(run, query string, size int) (keys, pages string) {
	s.Helper()
	for next := "first"; next != ""; {
		var page struct {
			Members []operations.Member
			Next    string
		}
		path := fmt.Sprintf("%s/members?limit=%d%s", runPath(run), size, query)
		if next != "first" {
			path += "&cursor=" + url.QueryEscape(next)
		}
		a := s.get(path)
		if a.StatusCode != http.StatusOK {
			s.Fatalf("%s: %d %s", path, a.StatusCode, a.body)
		}
		a.into(s.TB, &page)
		for _, m := range page.Members {
			keys += m.Key + " " + string(m.State) + ";"
		}
		next, pages = page.Next, pages+"."
	}
	return keys, pages
}

// "Who was not billed on the 1st?" is a query, a count and an export.
func TestMembersOfARunAreListedCountedAndExported(t *testing.T) {
	engines(t, func(s *site) {
		run := s.parent()
		var detail operations.RunDetail
		s.get(runPath(run)).into(s.TB, &detail)
		if got := fmt.Sprint(detail.MemberCount, detail.Members); got != "13 map[dead:2 not_started:1 running:1 succeeded:9]" {
			s.Errorf("counts %s", got)
		}
		failed := "t3 dead;t7 dead;ann@example.com running;zed not_started;"
		for query, want := range map[string]string{
			"&state=not_succeeded": failed, "": failed + "b/ü succeeded;t0 succeeded;t1 succeeded;t2 succeeded;t4 succeeded;t5 succeeded;t6 succeeded;t8 succeeded;t9 succeeded;",
			"&state=not_started": "zed not_started;", "&state=dead&state=running": "t3 dead;t7 dead;ann@example.com running;",
			"&key=t7": "t7 dead;", "&key=t77": "", "&key=ann*": "ann@example.com running;", "&key=" + url.QueryEscape("b/ü"): "b/ü succeeded;",
			"&key=t*&state=dead": "t3 dead;t7 dead;", "&key=*&state=dead": "t3 dead;t7 dead;",
		} {
			for _, size := range []int{1, 2, 3, 4, 100} {
				if got, pages := s.members(run, query, size); got != want || len(pages) > len(want)+1 {
					s.Errorf("%q by %d: %q in %d pages, want %q", query, size, got, len(pages), want)
				}
			}
		}
		rows, err := csv.NewReader(strings.NewReader(string(s.get("/v1/export/members?state=not_succeeded&run=" + url.QueryEscape(run)).body))).ReadAll()
		s.must(err)
		if len(rows) != 5 || rows[0][0] != "key" || rows[1][0] != "t3" || rows[1][6] != "HTTP 404: no such tenant" || rows[4][2] != "not_started" {
			s.Errorf("csv %q", rows)
		}
		if got := strings.Count(string(s.get("/v1/export/members?format=ndjson&run="+url.QueryEscape(run)).body), "\n"); got != 13 {
			s.Errorf("%d lines", got)
		}
		id, err := jobs.MemberRunID(run, "t3")
		s.must(err)
		s.get(runPath(id)).into(s.TB, &detail)
		if detail.Parent != run || detail.Member != "t3" {
			s.Errorf("member %+v", detail.Run)
		}
	})
}

// The actions on runs take the members of one run, all or by key.
func TestActionsSelectMembersOfARun(t *testing.T) {
	s := onFile(t, loopback)
	run := s.parent()
	other, err := jobs.MemberRunID(run, "ann@example.com")
	s.must(err)
	for body, want := range map[string]int{
		`{"state":["dead"]}`: 2, `{"member":["t7"]}`: 1, `{"member":["t7","t3"]}`: 2, `{"member":["t1"]}`: 0, `{"limit":1}`: 1,
	} {
		fields := map[string]any{}
		s.must(json.Unmarshal([]byte(body), &fields))
		fields["parent"], fields["dryRun"] = run, true
		var done operations.RunActionResult
		s.act("/v1/runs/redrive", fields).into(t, &done)
		if len(done.Changed) != want {
			t.Errorf("%s: %+v, want %d", body, done, want)
		}
	}
	var done operations.RunActionResult
	s.act("/v1/runs/cancel", map[string]any{"parent": run}).into(t, &done)
	if len(done.Changed) != 1 || done.Changed[0].RunID != other {
		t.Errorf("canceled %+v", done.Changed)
	}
	s.act("/v1/runs/ack", map[string]any{"parent": run, "member": []string{"t3"}}).into(t, &done)
	if len(done.Changed) != 1 || done.Changed[0].Member != "t3" {
		t.Errorf("acknowledged %+v", done.Changed)
	}
	for _, body := range []map[string]any{
		{"parent": run, "job": "tick"}, {"member": []string{"t3"}}, {"parent": run, "runIds": []string{other}}, {"parent": run, "member": []string{""}},
	} {
		if a := s.act("/v1/runs/cancel", body); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %d %s", body, a.StatusCode, a.body)
		}
	}
	if a := s.act("/v1/runs/cancel", map[string]any{"parent": s.run(2)}); a.StatusCode != http.StatusConflict {
		t.Errorf("of a run without members: %d %s", a.StatusCode, a.body)
	}
}

func TestWhyExplainsAMember(t *testing.T) {
	s := onFile(t, loopback)
	_, at, _ := strings.Cut(s.parent(), "@")
	for member, want := range map[string]string{
		"t3": "recorded This run is dead", "t1": "recorded This run succeeded", "zed": "not_planned It is in the list", "nobody": "not_in_list The list of tick@", "": "recorded This run has fanned out",
	} {
		var v operations.Explanation
		path := "/v1/why?job=tick&at=" + at
		if member != "" {
			path += "&member=" + member
		}
		s.get(path).into(t, &v)
		if got := string(v.Verdict) + " " + v.Text; !strings.HasPrefix(got, want) || v.Member != member {
			t.Errorf("%q: %s, want %s", member, got, want)
		}
	}
}
