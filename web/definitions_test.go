package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// A job's page compares any two of its definitions, and hides what runs send from viewers.
func TestAJobPageComparesDefinitions(t *testing.T) {
	s := newSite(t)
	for i, body := range []string{`{"first":"of the call"}`, `{"second":"of the call"}`} {
		reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Job{
			ID: "hourly", Schedule: []string{"5 * * * *", "6 * * * *"}[i], TargetURLEnv: "SVC_URL", Path: "/v1/admin/work", Body: json.RawMessage(body),
		})
		must(t, err)
		text, hash, err := reg.Jobs()[0].Definition()
		must(t, err)
		version := reg.Version()
		must(t, s.Declare(t.Context(), ledger.Declaration{Process: version, Registry: "acme", Version: version, Definitions: func(yield func(ledger.Definition) bool) {
			yield(ledger.Definition{JobID: "hourly", Hash: hash, Body: text})
		}}))
	}
	list, err := s.Definitions(t.Context(), "hourly", 9)
	must(t, err)
	if len(list) != 3 {
		t.Fatalf("%d definitions", len(list))
	}
	path := "/jobs/hourly?from=" + list[2].Hash + "&to=" + list[0].Hash
	s.has(path, `<span class="field">schedule</span> <del>0 * * * *</del> <ins>6 * * * *</ins>`, `value="`+list[2].Hash+`" selected`, "of the call")
	s.has("/jobs/hourly?from=beefbeef", "no definition &#34;beefbeef&#34;")
	s.role = access.Viewer
	if got := s.get(path).body; strings.Contains(got, "of the call") || !strings.Contains(got, "<ins>hidden</ins>") {
		t.Errorf("a viewer sees bodies:\n%s", got)
	}
}

// A job's page has the limits by which its runs wait or are late.
func TestAJobPageShowsItsLimits(t *testing.T) {
	s := newSite(t)
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Job{
		ID: "hourly", Schedule: "5 * * * *", TargetURLEnv: "SVC_URL", Path: "/v1/admin/work", MaxInFlight: 3,
		Alarm: jobs.Alarm{StartWithin: 5 * time.Minute, FinishWithin: time.Hour}, HeartbeatURLEnv: "HOURLY_PING_URL",
	})
	must(t, err)
	s.now.Registry = reg
	s.has("/jobs/hourly", "<dd>3</dd>", "startWithin 5m0s, finishWithin 1h0m0s", "<dd>HOURLY_PING_URL</dd>")
}
