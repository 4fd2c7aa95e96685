package jobs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

const notifying = `version: 1
name: acme
alarm: { startWithin: 1m, finishWithin: 1h }
jobs:
  - { id: a, schedule: "* * * * *", targetUrlEnv: SVC, path: /a }
  - { id: b, schedule: "* * * * *", targetUrlEnv: SVC, path: /b, alarm: { startWithin: 0s, finishWithin: 2h } }
notifications:
  - { name: oncall, type: pagerduty, key: { env: PD_KEY }, on: [dead, late, missed], remind: 6h }
  - { name: ops, type: slack, urlEnv: SLACK_URL, jobs: ["billing-*"], after: 2 }
  - { name: hub, type: webhook, urlEnv: HUB_URL, secret: { env: HUB_SECRET } }
  - { name: am, type: alertmanager, urlEnv: AM_URL }
  - { name: mail, type: email, smtp: { env: SMTP_URL }, to: [ops@example.com] }
heartbeat: { urlEnv: HC_URL }
`

func TestChannelsAndAlarmsAreRead(t *testing.T) {
	r, err := jobs.Parse("cronce.yaml", []byte(notifying))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := r.Job("a")
	b, _ := r.Job("b")
	if (a.Alarm != jobs.Alarm{StartWithin: time.Minute, FinishWithin: time.Hour}) || (b.Alarm != jobs.Alarm{FinishWithin: 2 * time.Hour}) {
		t.Errorf("alarms %v and %v", a.Alarm, b.Alarm)
	}
	if r.Heartbeat() != (jobs.Heartbeat{URLEnv: "HC_URL", Every: time.Minute}) {
		t.Errorf("heartbeat %+v", r.Heartbeat())
	}
	var names []string
	for _, target := range r.Targets() {
		names = append(names, target.Name)
	}
	if want := []string{"env:SVC", "heartbeat:", "notify:am", "notify:hub", "notify:oncall", "notify:ops"}; !slices.Equal(names, want) {
		t.Errorf("targets %q, want %q", names, want)
	}
	if hub, _ := r.Target("notify:hub"); hub.Auth.Type != jobs.AuthHMAC || hub.Auth.Secret.Env != "HUB_SECRET" {
		t.Errorf("target %+v", hub)
	}
	if oncall, _ := r.Target("notify:oncall"); oncall.URL == "" || oncall.Auth.RoutingKey.Env != "PD_KEY" {
		t.Errorf("target %+v", oncall)
	}
}

func TestAChannelTakesWhatItSelects(t *testing.T) {
	for pattern, want := range map[string]bool{"a-?-*": true, "*c": true, "a*b*c": true, "?-b-c": true, "*": true,
		"a-b": false, "a-b-c?": false, "*b": false, "a-*-b": false} {
		if got := (jobs.Channel{Jobs: []string{pattern}}).Selects(jobs.Job{ID: "a-b-c"}, "dead"); got != want {
			t.Errorf("%s selects: %t", pattern, got)
		}
	}
	c := jobs.Channel{Name: "ops", Jobs: []string{"billing-*", "close"}, On: []string{"dead"}}
	for _, w := range []struct {
		job, cause string
		takes      bool
	}{
		{"billing-1", "dead", true}, {"billing-1", "late", false}, {"close", "dead", true}, {"close-books", "dead", false}, {"notify-ops", "dead", false},
	} {
		if c.Selects(jobs.Job{ID: w.job}, w.cause) != w.takes {
			t.Errorf("%s %s: %v", w.job, w.cause, !w.takes)
		}
	}
	if all := (jobs.Channel{Name: "ops"}); all.Selects(jobs.Job{ID: "notify-ops"}, "dead") || !all.Selects(jobs.Job{ID: "notify-hub"}, "dead") || !all.Selects(jobs.Job{ID: "x"}, "overdue") {
		t.Error("a channel without a selection takes every incident but its own")
	}
}

func TestAChannelSelectsByOwnerAndLabels(t *testing.T) {
	c := jobs.Channel{Name: "pay", Owners: []string{"payments", "billing"}, Labels: map[string]string{"tier": "1", "env": "prod"}}
	job := func(owner string, labels ...string) jobs.Job {
		j := jobs.Job{ID: "j", Metadata: jobs.Metadata{Owner: owner, Labels: map[string]string{}}}
		for i := 0; i < len(labels); i += 2 {
			j.Labels[labels[i]] = labels[i+1]
		}
		return j
	}
	for _, w := range []struct {
		job   jobs.Job
		takes bool
	}{
		{job("payments", "tier", "1", "env", "prod"), true}, {job("billing", "tier", "1", "env", "prod", "x", "y"), true},
		{job("payments", "tier", "2", "env", "prod"), false}, {job("payments", "tier", "1"), false},
		{job("", "tier", "1", "env", "prod"), false}, {jobs.Job{ID: "gone"}, false},
	} {
		if c.Selects(w.job, "dead") != w.takes {
			t.Errorf("owner %q, labels %v: %v", w.job.Owner, w.job.Labels, !w.takes)
		}
	}
}

func TestWrongChannelsAreRefusedInWords(t *testing.T) {
	for line, want := range map[string]string{
		`notifications: [{ name: ops, type: slak, urlEnv: X }]`:                                     `unknown type "slak"; valid values: webhook, slack`,
		`notifications: [{ name: ops, type: slack }]`:                                               `urlEnv is missing`,
		`notifications: [{ name: ops, type: slack, urlEnv: "https://hooks.slack.com/x" }]`:          `not shown`,
		`notifications: [{ name: ops, type: pagerduty }]`:                                           `key is missing`,
		`notifications: [{ name: ops, type: slack, urlEnv: X, key: { env: K } }]`:                   `key has no meaning for type: slack`,
		`notifications: [{ name: ops, type: email, smtp: { env: S } }]`:                             `to is missing`,
		`notifications: [{ name: ops, type: email, smtp: { env: S }, to: ["Ann <ann@x>"] }]`:        `invalid address`,
		`notifications: [{ name: ops, type: slack, urlEnv: X, on: [deaad] }]`:                       `unknown cause "deaad"`,
		`notifications: [{ name: ops, type: slack, urlEnv: X, jobs: ["[a"] }]`:                      `invalid pattern`,
		`notifications: [{ name: ops, type: slack, urlEnv: X, labels: { "a b": x } }]`:              `invalid label name`,
		`notifications: [{ name: ops, type: slack, urlEnv: X, remind: 1s }]`:                        `the minimum is 1m`,
		`notifications: [{ name: ops, type: slack, urlEnv: X, after: -1 }]`:                         `the minimum is 1`,
		`notifications: [{ name: a, type: slack, urlEnv: X }, { name: a, type: slack, urlEnv: X }]`: `duplicate channel "a"`,
		`notifications: [{ name: job, type: slack, urlEnv: X }]`:                                    `which the registry has too`,
		`heartbeat: {}`:                                `urlEnv is missing`,
		`heartbeat: { urlEnv: X, every: 1ms }`:         `the minimum is 1s`,
		`alarm: { startWithin: 2h, finishWithin: 1h }`: `shorter than startWithin`,
	} {
		text := "version: 1\nname: acme\njobs: [{ id: notify-job, schedule: \"* * * * *\", targetUrlEnv: SVC, path: /a }]\n" + line + "\n"
		_, err := jobs.Parse("cronce.yaml", []byte(text))
		var problems jobs.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cronce.yaml:4:") {
			t.Errorf("%s\n%v\nwant %q", line, err, want)
		}
	}
}

func TestForContinuesTheListOfRetries(t *testing.T) {
	for _, c := range []struct {
		retry jobs.Retry
		want  string
	}{
		{jobs.Retry{For: 30 * time.Minute}, "[500ms 2s 5s 30s 1m0s 2m0s 4m0s 5m0s 5m0s 5m0s 5m0s]"},
		{jobs.Retry{For: 3 * time.Minute, MaxBackoff: 45 * time.Second}, "[500ms 2s 5s 30s 45s 45s 45s]"},
		{jobs.Retry{For: 38 * time.Second}, "[500ms 2s 5s 30s]"},
		{jobs.Retry{For: 4 * time.Second, Backoff: []time.Duration{}}, "[500ms 1s 2s]"},
		{jobs.Retry{}, "[500ms 2s 5s 30s]"},
	} {
		r, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Job{ID: "a", Schedule: "* * * * *", TargetURLEnv: "SVC", Path: "/a", Retry: c.retry})
		if err != nil {
			t.Fatal(err)
		}
		j, _ := r.Job("a")
		if got := strings.TrimSpace(strings.Join(strings.Fields(fmt.Sprint(j.Retry.Backoff)), " ")); got != c.want {
			t.Errorf("%+v: %s, want %s", c.retry, got, c.want)
		}
		if terms := j.HorizonTerms(r.Platform()); terms.Attempts != len(j.Retry.Backoff)+1 || j.Retry.Horizon != terms.Sum() {
			t.Errorf("%+v: horizon %s, terms %+v", c.retry, j.Retry.Horizon, terms)
		}
	}
}

func TestAContinuationThatAddsNothingOrTooMuchIsRefused(t *testing.T) {
	for want, retry := range map[string]jobs.Retry{
		"maxBackoff belongs to for":             {MaxBackoff: time.Minute},
		"shorter than the waits of backoff":     {For: 10 * time.Second},
		"shorter than the last wait of backoff": {For: time.Hour, MaxBackoff: time.Second},
		"takes more than 100 retries":           {For: 24 * time.Hour, MaxBackoff: time.Minute},
		"for -1s is negative":                   {For: -time.Second},
	} {
		_, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Job{ID: "a", Schedule: "* * * * *", TargetURLEnv: "SVC", Path: "/a", Retry: retry})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", retry, err, want)
		}
	}
}
