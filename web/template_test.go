package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// withTemplate is a site that also serves a template with n schedules.
func withTemplate(t *testing.T, n int) *site { return addTemplate(newSite(t), n) }

func addTemplate(s *site, n int) *site {
	t := s.T
	t.Helper()
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Template{Job: jobs.Job{ID: "report", Target: "svc", Path: "/r/{{key}}", Body: map[string]string{"format": "{{data.format}}"}, Metadata: jobs.Metadata{Owner: "ops", Description: "A report"}}, Max: 100})
	must(t, err)
	s.now.Registry = reg
	s.change(n, func(i int) operations.ScheduleChange {
		return operations.ScheduleChange{Key: fmt.Sprintf("k%02d", i), Schedule: "0 7 * * *", Data: []byte(`{"format":"pdf-of-acme"}`)}
	})
	return s
}

func (s *site) change(n int, change func(i int) operations.ScheduleChange) {
	s.Helper()
	list := make([]operations.ScheduleChange, n)
	for i := range list {
		list[i] = change(i)
	}
	outcomes, err := s.board.Operations.ChangeSchedules(s.Context(), "report", list, ledger.Actor{By: "shop", Why: "a test"})
	must(s.T, err)
	for _, o := range outcomes {
		must(s.T, o.Err)
	}
}

func TestATemplatesPageListsItsSchedulesByKey(t *testing.T) {
	s := withTemplate(t, 60)
	s.has("/jobs", `href="/jobs/report"`, "made at run time, up to 100")
	s.has("/jobs/report", "60 of at most 100 schedules", `href="/jobs/report:k00"`, "every day at 07:00, UTC", `href="/jobs/report?after=k49"`, "A report", "cronce schedules list report")
	s.has("/jobs/report?after=k49", `href="/jobs/report:k59"`, "First page")
	s.has("/jobs/report?key=k1", `href="/jobs/report:k19"`, `--prefix</span> k1`)
	if body := s.get("/jobs/report?key=k1").body; strings.Contains(body, "report:k20") {
		t.Error("the search finds other keys")
	}
	s.has("/jobs/report?key=nobody", "has a key that begins with nobody")
}

func TestAScheduleIsNotTriggeredWithoutTheDataThatItsTemplateNeeds(t *testing.T) {
	s := withTemplate(t, 1)
	ann := ledger.Actor{By: "ann", Why: "a test"}
	_, err := s.board.Operations.TriggerEntry(s.Context(), "report:k00", ann)
	must(t, err)
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Template{Job: jobs.Job{ID: "report", Target: "svc", Path: "/r/{{data.region}}"}, Max: 100})
	must(t, err)
	s.now.Registry = reg
	if e, err := s.board.Operations.TriggerEntry(s.Context(), "report:k00", ann); err == nil {
		t.Errorf("triggered: %s %q", e.Call.Method, e.Call.Path)
	}
	s.has("/jobs/report:k00", "07:00", "does not fit its template: <bdi>data.region is missing")
	s.has("/jobs/report", `<span class="tag bad">unfit</span>`)
}

func TestASchedulesPageIsThatOfAJob(t *testing.T) {
	s := withTemplate(t, 1)
	s.has("/jobs/report:k00", `<a class="id" href="/jobs/report">report</a>`, "POST /r/k00", "pdf-of-acme", "07:00")
	if got := s.get("/jobs/report:nobody"); got.Code != http.StatusNotFound {
		t.Errorf("an unknown schedule: %d", got.Code)
	}
}

func TestSchedulesOfATemplateThatTheRegistryLacksAreShownAsOrphaned(t *testing.T) {
	s := withTemplate(t, 1)
	without, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"})
	must(t, err)
	s.now.Registry = without
	s.has("/jobs/report", "orphaned", "no process with this registry plans them", `href="/jobs/report:k00"`)
	s.change(1, func(int) operations.ScheduleChange { return operations.ScheduleChange{Key: "k00", Delete: true} })
}

func TestSchedulesShowThePauseThatTheyAreIn(t *testing.T) {
	s := newSite(t)
	why := "the quarter is being closed"
	_, err := s.Ledger.ChangePause(s.Context(), ledger.PauseChange{Kind: ledger.PauseSkip, Selector: ledger.Selector{Owner: "ops"},
		Until: time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC), Actor: ledger.Actor{By: "ann", Why: why}})
	must(t, err)
	addTemplate(s, 1)
	got, err := s.board.Operations.Schedule(s.Context(), "report", "k00")
	must(t, err)
	if got.State != operations.SchedulePaused || got.PausedWhy != why || got.PausedUntil == "" {
		t.Errorf("%+v", got)
	}
	list, err := s.board.Operations.Templates(s.Context())
	must(t, err)
	if len(list) != 1 || list[0].State != operations.SchedulePaused {
		t.Errorf("%+v", list)
	}
	s.has("/jobs/report", `<span class="tag warn">paused</span>`)
}
