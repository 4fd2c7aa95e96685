package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/internal/operations"
)

func TestAPauseOfManyIsAddedChangedAndEnded(t *testing.T) {
	engines(t, func(s *site) {
		until := time.Now().UTC().Truncate(time.Second).Add(time.Hour)
		body := fmt.Sprintf(`{"by":"ann","why":"move","target":"svc","until":%q}`, until.Format(time.RFC3339))
		var dry, p operations.Pause
		s.send("POST", "/v1/pauses", strings.Replace(body, `"by"`, `"dryRun":true,"by"`, 1)).into(s.TB, &dry)
		if dry.ID != 0 || dry.Jobs == 0 || dry.Times == 0 {
			s.Errorf("preview %+v", dry)
		}
		a := s.send("POST", "/v1/pauses", body, "Idempotency-Key", "add")
		a.into(s.TB, &p)
		again := s.send("POST", "/v1/pauses", body, "Idempotency-Key", "add")
		if a.StatusCode != 201 || string(again.body) != string(a.body) || p.Kind != "skip" || p.State != operations.PauseActive || p.Target != "svc" {
			s.Fatalf("%d %s, then %s", a.StatusCode, a.body, again.body)
		}
		var j operations.JobDetail
		for range 20 { // what is known of pauses may be a second old
			s.get("/v1/jobs/tick").into(s.TB, &j)
			if j.State == operations.JobPaused {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if j.State != operations.JobPaused || j.PausedUntil != until.Format(time.RFC3339) || j.PausedWhy != "move" || j.Next < j.PausedUntil {
			s.Errorf("job %s, until %q, next %q", j.State, j.PausedUntil, j.Next)
		}
		path := fmt.Sprintf("/v1/pauses/%d/", p.ID)
		longer := until.Add(time.Hour).Format(time.RFC3339)
		s.send("POST", path+"change", fmt.Sprintf(`{"by":"ann","why":"longer","until":%q}`, longer), "Idempotency-Key", "change").into(s.TB, &p)
		if p.Until != longer {
			s.Errorf("changed: %+v", p)
		}
		s.send("POST", path+"end", `{"by":"ann","why":"done"}`, "Idempotency-Key", "end").into(s.TB, &p)
		if p.State != operations.PauseEnded {
			s.Errorf("ended: %+v", p)
		}
		var list struct{ Pauses []operations.Pause }
		s.get("/v1/pauses").into(s.TB, &list)
		if n := len(list.Pauses); n != 0 {
			s.Errorf("%d pauses last", n)
		}
		s.get("/v1/pauses?ended=true").into(s.TB, &list)
		if len(list.Pauses) != 1 {
			s.Errorf("all: %+v", list)
		}
		for body, want := range map[string]string{
			`{"by":"ann","why":"x","target":"svc"}`:                                   "until",
			`{"by":"ann","why":"x","until":"` + longer + `"}`:                         "selects no jobs",
			`{"by":"ann","why":"x","job":"tik","until":"` + longer + `"}`:             "unknown job",
			`{"by":"ann","why":"x","kind":"hold","until":"` + longer + `"}`:           "target",
			`{"by":"ann","why":"x","all":true,"job":"tick","until":"` + longer + `"}`: "one of them",
		} {
			if e := s.send("POST", "/v1/pauses", body, "Idempotency-Key", uuid.NewString()); e.StatusCode/100 != 4 || !strings.Contains(string(e.body), want) {
				s.Errorf("%s: %d %s", body, e.StatusCode, e.body)
			}
		}
		for what, status := range map[string]int{"end": 409, "change": 409} {
			if e := s.send("POST", path+what, `{"by":"ann","why":"x"}`, "Idempotency-Key", "late-"+what); e.StatusCode != status {
				s.Errorf("%s after the end: %d %s", what, e.StatusCode, e.body)
			}
		}
		if e := s.send("POST", "/v1/pauses/999/end", `{"by":"ann","why":"x"}`, "Idempotency-Key", "none"); e.StatusCode != 404 || e.code(s.TB) != "unknown_pause" {
			s.Errorf("%d %s", e.StatusCode, e.body)
		}
	})
}
