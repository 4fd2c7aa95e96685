package operations_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Schedules made at run time are in no list of jobs, and are paused like them.
func TestPausesAndHoldsCanBeOfTemplatesAlone(t *testing.T) {
	reg, err := jobs.Parse("jobs.yaml", []byte(`
name: acme
targets: { reports: { urlEnv: REPORTS_URL }, spare: { urlEnv: SPARE_URL } }
jobs:
  - { id: report, keyed: { max: 10 }, target: reports, path: /r, owner: Sales }
`))
	if err != nil {
		t.Fatal(err)
	}
	s := operations.New(operations.Config{Registry: func() (*jobs.Registry, error) { return reg, nil }})
	for _, c := range []struct {
		kind ledger.PauseKind
		of   ledger.Selector
		ok   bool
	}{
		{ledger.PauseHold, ledger.Selector{Target: "reports"}, true},
		{ledger.PauseHold, ledger.Selector{Target: "spare"}, true},
		{ledger.PauseHold, ledger.Selector{Target: "report"}, false},
		{ledger.PauseSkip, ledger.Selector{Job: "report"}, true},
		{ledger.PauseSkip, ledger.Selector{Job: "report:acme"}, true},
		{ledger.PauseSkip, ledger.Selector{Job: "report:*"}, true},
		{ledger.PauseSkip, ledger.Selector{Job: "rep*:eu-*"}, true},
		{ledger.PauseSkip, ledger.Selector{Job: "report:a?"}, false},
		{ledger.PauseSkip, ledger.Selector{Job: "other:*"}, false},
		{ledger.PauseSkip, ledger.Selector{Owner: "Sales"}, true},
		{ledger.PauseSkip, ledger.Selector{Job: "other:acme"}, false},
		{ledger.PauseSkip, ledger.Selector{Target: "spare"}, false},
	} {
		change := ledger.PauseChange{Kind: c.kind, Selector: c.of, Until: time.Now().Truncate(time.Second).Add(time.Hour)}
		p, err := s.ChangePause(t.Context(), operations.PauseChange{PauseChange: change, DryRun: true})
		templates := 0
		if c.ok && c.of.Target != "spare" {
			templates = 1
		}
		if (err == nil) != c.ok || p.Templates != templates {
			t.Errorf("%s %s: %d templates, %v", c.kind, c.of, p.Templates, err)
		}
	}
}

// A preview refuses what the ledger would refuse.
func TestAPreviewOfAPauseIsChecked(t *testing.T) {
	s, _ := served(t, jobs.Job{ID: "j", Schedule: "0 * * * *"}, 0)
	now := time.Now().Truncate(time.Second)
	for _, c := range []struct {
		kind  ledger.PauseKind
		until time.Time
		ok    bool
	}{
		{ledger.PauseSkip, now.Add(time.Hour), true},
		{"pause", now.Add(time.Hour), false},
		{ledger.PauseSkip, now.Add(ledger.MaxPause + time.Hour), false},
		{ledger.PauseSkip, now.Add(-time.Hour), false},
	} {
		change := ledger.PauseChange{Kind: c.kind, Until: c.until, Selector: ledger.Selector{Job: "j"}, Actor: ledger.Actor{By: "ann", Why: "x"}}
		for _, dry := range []bool{true, false} {
			_, err := s.ChangePause(t.Context(), operations.PauseChange{PauseChange: change, DryRun: dry})
			if (err == nil) != c.ok {
				t.Errorf("%s until %s, dry %v: %v", c.kind, c.until, dry, err)
			}
		}
	}
}

// Of a job in a pause, the next run is the first one after it, and so is its start.
func TestAPausedJobSaysWhenItsNextRunStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(45 * time.Minute) // the run of this hour has started
		j := jobs.Job{ID: "j", Schedule: "0 * * * *", Spread: 30 * time.Minute}
		s, l := served(t, j, 0)
		until := time.Now().Truncate(time.Hour).Add(48 * time.Hour)
		c := ledger.PauseChange{Kind: ledger.PauseSkip, Until: until, Actor: ledger.Actor{By: "ann", Why: "x"}}
		if _, err := l.ChangePause(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		got, err := s.Job(t.Context(), "j")
		starts, wrong := time.Parse(time.RFC3339, got.Starts)
		if err != nil || wrong != nil || got.Next != until.UTC().Format(time.RFC3339) || starts.Before(until) || starts.After(until.Add(j.Spread)) {
			t.Errorf("next %s, starts %s, %v, %v; want them from %s on", got.Next, got.Starts, err, wrong, until)
		}
	})
}
