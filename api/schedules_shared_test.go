package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
)

// A scheduler sees and changes the schedules of its templates. Of others it learns nothing.
func TestASchedulerHasItsTemplatesAlone(t *testing.T) {
	shopToken, shopHash := access.NewToken()
	bankToken, bankHash := access.NewToken()
	path, tokens := accessFile(t, `  - { name: shop, role: scheduler, templates: [report], hash: "`+shopHash+`" }
  - { name: bank, role: scheduler, templates: [invoice, gone], hash: "`+bankHash+`" }
`)
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, control)
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	templates := func(token string) string {
		var got struct{ Templates []operations.Template }
		s.get("/v1/templates", as(token)...).into(t, &got)
		var ids []string
		for _, each := range got.Templates {
			ids = append(ids, each.ID)
		}
		return strings.Join(ids, " ")
	}
	for token, want := range map[string]string{shopToken: "report", bankToken: "invoice", tokens["viewer"]: "invoice report"} {
		if got := templates(token); got != want {
			t.Errorf("templates: %q, want %q", got, want)
		}
	}
	bulk := func(path, token, lines string) answer {
		return s.send("POST", path, lines, append(as(token), "Content-Type", "application/x-ndjson")...)
	}
	a := bulk("/v1/jobs/report/schedules", shopToken, `{"key":"a","schedule":"@daily"}
{"key":"b","schedule":"@daily","data":{"format":"doc"}}
{"key":"b","schedule":"@daily"}
{"key":"c","schedule":"@daily"}
{"key":"d","schedule":"@daily"}`)
	var got []string
	for line := range strings.Lines(string(a.body)) {
		for _, word := range []string{"created", "invalid_request", "too_many_schedules"} {
			if strings.Contains(line, word) {
				got = append(got, word)
			}
		}
	}
	if text := strings.Join(got, " "); a.StatusCode != 200 || text != "created invalid_request created created too_many_schedules" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	const line = `{"key":"a","delete":true}`
	for _, refused := range []answer{
		bulk("/v1/jobs/report/schedules", bankToken, line), bulk("/v1/jobs/report/schedules", tokens["viewer"], line),
		s.send("PUT", "/v1/jobs/report/schedules/a", `{"schedule":"@hourly"}`, as(bankToken)...),
		s.send("DELETE", "/v1/jobs/report/schedules/a", nil, as(bankToken)...),
		s.send("POST", "/v1/jobs/report:a/pause", `{"why":"x"}`, as(bankToken)...),
		s.get("/v1/jobs/report/schedules", as(bankToken)...), s.get("/v1/jobs/report/schedules/a", as(bankToken)...),
		s.get("/v1/jobs/report/schedules/unknown", as(bankToken)...), s.get("/v1/jobs/unknown/schedules", as(bankToken)...),
	} {
		if refused.StatusCode != 403 || strings.Contains(string(refused.body), "@daily") {
			t.Errorf("%s %s: %d %s", refused.Request.Method, refused.Request.URL.Path, refused.StatusCode, refused.body)
		}
	}
	if a := s.get("/v1/jobs/report/schedules/a", as(shopToken)...); !strings.Contains(string(a.body), `"revision":1,"state":"active"`) {
		t.Errorf("it was changed: %s", a.body)
	}
}

// Of two writers that read the same revision and write in two processes at once, one finds it.
func TestOfTwoWritersOfOneRevisionOneWrites(t *testing.T) {
	engines(t, func(s *site) {
		other := *s
		other.store = s.open()
		replicas := []*httptest.Server{s.server, other.replica(loopback)}
		condition := []string{"If-None-Match", "*"}
		for revision := int64(1); revision <= 20; revision++ {
			var answers [2]answer
			var both sync.WaitGroup
			for i, server := range replicas {
				both.Go(func() {
					body := fmt.Sprintf(`{"by":"writer %d","schedule":"%d %d * * *"}`, i, revision, i)
					answers[i] = s.sendTo(server, http.MethodPut, acme, body, condition...)
				})
			}
			both.Wait()
			won := 0
			if answers[1].StatusCode < 300 {
				won = 1
			}
			var now operations.Schedule
			s.sendTo(replicas[1-won], http.MethodGet, acme, nil).into(s, &now) // the loser reads it at once
			if lost := answers[1-won]; answers[won].StatusCode >= 300 || lost.StatusCode != 412 || now.Revision != revision ||
				now.ChangedBy != fmt.Sprintf("writer %d", won) || now.Schedule != fmt.Sprintf("%d %d * * *", revision, won) {
				s.Fatalf("revision %d: %d %s, %d %s; it is now %+v", revision, answers[0].StatusCode, answers[0].body, answers[1].StatusCode, answers[1].body, now)
			}
			condition = []string{"If-Match", fmt.Sprintf("%q", fmt.Sprint(now.Revision))}
		}
	})
}

// A pause of the template is told by the answer to a change as by a list, in each process.
func TestAChangeUnderAPausedTemplateSaysSo(t *testing.T) {
	engines(t, func(s *site) {
		other := *s
		other.store = s.open()
		server := other.replica(loopback)
		if a := s.act("/v1/jobs/report/pause", map[string]any{"why": "an audit"}); a.StatusCode != 200 {
			s.Fatalf("%s", a.body)
		}
		for _, body := range []string{`{"by":"ann","schedule":"@daily"}`, `{"by":"ann","schedule":"@hourly"}`, `{"by":"ann","schedule":"@hourly"}`} {
			var put changed
			s.sendTo(server, http.MethodPut, acme, body).into(s, &put)
			var page struct{ Schedules []operations.Schedule }
			s.get("/v1/jobs/report/schedules").into(s, &page)
			if put.State != operations.SchedulePaused || put.PausedWhy != "an audit" || put.Next != "" || page.Schedules[0].State != put.State ||
				page.Schedules[0].PausedAt != put.PausedAt {
				s.Errorf("%s: %+v; the list has %+v", body, put, page.Schedules[0])
			}
		}
	})
}
