package executor_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// A schedule that cannot be called still has its times: those up to its end are missed.
func TestTheTimesOfAScheduleThatCannotBeCalledAreMissed(t *testing.T) {
	needs := report
	needs.Body = map[string]string{"other": "{{data.other}}"}
	registries := map[string]*jobs.Registry{"without the template": registry(t, minutely("other")), "with data missing": registry(t, needs)}
	from := time.Date(2026, 10, 24, 22, 30, 0, 500, time.UTC)
	for name, tc := range map[string]struct {
		expr, timezone string
		until          time.Duration
		length         time.Duration
		want           string
	}{
		"none":                     {expr: "0 7 * * *", length: time.Hour},
		"rows of their own":        {expr: "*/10 * * * *", length: 30 * time.Minute, want: "22:40 22:50 23:00"},
		"up to until":              {expr: "*/10 * * * *", until: 15 * time.Minute, length: time.Hour, want: "22:40"},
		"a single time":            {expr: "at(2026-10-24T23:00:00)", length: time.Hour, want: "23:00"},
		"a time that comes twice":  {expr: "30 * * * *", timezone: "Europe/London", length: 3 * time.Hour, want: "23:30 00:30 01:30"},
		"once in a fold":           {expr: "30 1 * * *", timezone: "Europe/London", length: 24 * time.Hour, want: "00:30"},
		"a year in one row":        {expr: "* * * * *", length: 365 * 24 * time.Hour, want: "22:31..22:30 525600"},
		"a century in one row":     {expr: "* * * * * *", length: 100 * 365 * 24 * time.Hour, want: "22:30..22:30 3153600000"},
		"an unknown time zone":     {expr: "* * * * *", timezone: "Europe/Berln", length: time.Hour, want: "22:30..23:30 1"},
		"an unreadable expression": {expr: "every minute", length: time.Hour, want: "22:30..23:30 1"},
		"no time for any":          {expr: "every minute", length: time.Millisecond},
	} {
		for why, reg := range registries {
			t.Run(name+" "+why, func(t *testing.T) {
				s := ledger.Schedule{JobID: "report:acme", Revision: 3, Watermark: from,
					ScheduleContent: ledger.ScheduleContent{Expr: tc.expr, Timezone: tc.timezone, Data: []byte(`{"n":"1"}`)}}
				if tc.until != 0 {
					s.Until = from.Truncate(time.Second).Add(tc.until)
				}
				rules, now := executor.ScheduleRules(reg, 0), from.Add(tc.length)
				p, next, err := rules.Plan(&s, now, true)
				if err != nil || !next.IsZero() || p.JobID != s.JobID || p.Revision != 3 || !p.After.Equal(from) || !p.Through.Equal(now) {
					t.Fatalf("%+v, next %s, %v", p, next, err)
				}
				if err := (ledger.Admission{Plans: []ledger.Plan{p}}).Validate(); err != nil {
					t.Error(err)
				}
				var got []string
				for _, in := range p.Runs {
					text := in.ScheduledAt.Format("15:04")
					if !in.Until.IsZero() {
						text = fmt.Sprintf("%s..%s %d", text, in.Until.Format("15:04"), in.Count)
					}
					got = append(got, text)
					if in.State != ledger.Missed || in.Reason != ledger.ReasonNotPlannable {
						t.Errorf("%+v", in)
					}
				}
				if text := strings.Join(got, " "); text != tc.want {
					t.Errorf("got  %s\nwant %s", text, tc.want)
				}
				if _, _, err := rules.Plan(&s, now, false); err == nil {
					t.Error("it is planned while it can be called later")
				}
			})
		}
	}
}

// What could not be called for a while, and was not changed, is caught up.
func TestAScheduleThatFitsAgainIsCaughtUp(t *testing.T) {
	needs := report
	needs.Body = map[string]string{"other": "{{data.other}}"}
	for name, without := range map[string]*jobs.Registry{"without the template": registry(t, minutely("other")), "with data missing": registry(t, needs)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, svc, reg := memory.New(), applying(), registry(t, report)
				_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				time.Sleep(time.Second)
				made(t, l, reg, "acme", "*/10 * * * *")
				stop()
				_, stop = start(t, executor.Config{Registry: without, Ledger: l, Caller: svc})
				time.Sleep(time.Hour + 5*time.Minute)
				if runs := mustList(t, l, ledger.Filter{JobID: "report:acme"}); len(runs) != 0 {
					t.Errorf("%+v", runs)
				}
				stop()
				_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				time.Sleep(time.Minute)
				stop()
				runs := mustList(t, l, ledger.Filter{JobID: "report:acme"})
				if len(runs) != 6 || runs[0].State != ledger.Succeeded || runs[5].State != ledger.Superseded {
					t.Errorf("%d runs: %+v", len(runs), runs)
				}
			})
		})
	}
}

// A disabled template calls nothing, also for a schedule that is changed or deleted.
func TestTheTimesOfADisabledTemplateAreSkipped(t *testing.T) {
	disabled := report
	disabled.Disabled = true
	from := time.Date(2026, 10, 24, 22, 30, 0, 0, time.UTC)
	s := ledger.Schedule{JobID: "report:acme", Revision: 1, Watermark: from,
		ScheduleContent: ledger.ScheduleContent{Expr: "*/10 * * * *", Data: []byte(`{"n":"1"}`)}}
	p, next, err := executor.ScheduleRules(registry(t, disabled), 0).Plan(&s, from.Add(30*time.Minute), true)
	if err != nil || !next.IsZero() || len(p.Runs) != 3 {
		t.Fatalf("%+v, next %s, %v", p, next, err)
	}
	for _, in := range p.Runs {
		if in.State != ledger.Skipped || in.Reason != ledger.ReasonPaused {
			t.Errorf("%+v", in)
		}
	}
}
