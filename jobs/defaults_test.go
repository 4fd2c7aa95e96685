package jobs_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

const withDefaults = `name: acme
targets:
  lms: { urlEnv: LMS_URL }
  crm: { urlEnv: CRM_URL }
defaults:
  target: lms
  timezone: Europe/Berlin
  dst: skip
  method: PUT
  scopes: [a]
  headers: { X-A: all, X-B: all }
  timeout: 5m
  spread: 10m
  retry: { backoff: [1m], jitter: 0.5, for: 10m }
  overlap: queue
  catchUp: all
  catchUpWindow: 1h
  acknowledge: success
  maxInFlight: 3
  alarm: { startWithin: 1m, finishWithin: 2m }
  owner: Platform
  labels: { env: prod, tier: "2" }
jobs:
  - { id: plain, schedule: '@hourly', path: /a }
  - id: own
    schedule: '@hourly'
    path: /a
    targetUrlEnv: CRM_URL
    timezone: UTC
    dst: wall
    method: POST
    scopes: []
    headers: { X-B: own }
    timeout: 1s
    spread: 0s
    retry: { backoff: [], jitter: 0, for: 1m }
    overlap: skip
    catchUp: none
    catchUpWindow: 2h
    acknowledge: operator
    maxInFlight: 1
    alarm: { startWithin: 0s, finishWithin: 3m }
    owner: Billing
    labels: { tier: "1" }
`

func TestAJobTakesWhatItDoesNotSetFromTheDefaults(t *testing.T) {
	r, err := jobs.Parse("jobs.yaml", []byte(withDefaults))
	if err != nil {
		t.Fatal(err)
	}
	plain, own := one(t, r, "plain"), one(t, r, "own")
	for _, c := range []struct {
		field            string
		plain, own       any
		wantPlain, wants any
	}{
		{"target", plain.Target, own.Target, "lms", "crm"},
		{"timezone", plain.Timezone, own.Timezone, "Europe/Berlin", "UTC"},
		{"dst", plain.DST, own.DST, schedule.DSTSkip, schedule.DSTWall},
		{"method", plain.Method, own.Method, "PUT", "POST"},
		{"scopes", len(plain.Scopes), len(own.Scopes), 1, 0},
		{"headers", plain.Headers, own.Headers, map[string]string{"X-A": "all", "X-B": "all"}, map[string]string{"X-A": "all", "X-B": "own"}},
		{"timeout", plain.Timeout, own.Timeout, 5 * time.Minute, time.Second},
		{"spread", plain.Spread, own.Spread, 10 * time.Minute, time.Duration(0)},
		{"retry.backoff", len(plain.Retry.Backoff), len(own.Retry.Backoff), 3, 6}, // with the waits that for adds
		{"retry.jitter", plain.Retry.Jitter, own.Retry.Jitter, 0.5, 0.0},
		{"overlap", plain.Overlap, own.Overlap, jobs.OverlapQueue, jobs.OverlapSkip},
		{"catchUp", plain.CatchUp, own.CatchUp, jobs.CatchUpAll, jobs.CatchUpNone},
		{"acknowledge", plain.Acknowledge, own.Acknowledge, jobs.AckBySuccess, jobs.Acknowledge("")},
		{"catchUpWindow", plain.CatchUpWindow, own.CatchUpWindow, time.Hour, 2 * time.Hour},
		{"maxInFlight", plain.MaxInFlight, own.MaxInFlight, 3, 1},
		{"alarm", plain.Alarm, own.Alarm, jobs.Alarm{StartWithin: time.Minute, FinishWithin: 2 * time.Minute}, jobs.Alarm{FinishWithin: 3 * time.Minute}},
		{"owner", plain.Owner, own.Owner, "Platform", "Billing"},
		{"labels", plain.Labels, own.Labels, map[string]string{"env": "prod", "tier": "2"}, map[string]string{"env": "prod", "tier": "1"}},
	} {
		if !reflect.DeepEqual(c.plain, c.wantPlain) || !reflect.DeepEqual(c.own, c.wants) {
			t.Errorf("%s: %v by default and %v of its own, want %v and %v", c.field, c.plain, c.own, c.wantPlain, c.wants)
		}
	}
	purge := one(t, r, jobs.PurgeJobID)
	if purge.Owner != "Platform" || purge.Timezone != "UTC" || purge.Timeout != time.Hour {
		t.Errorf("the purge of %s has timezone %s and timeout %s", purge.Owner, purge.Timezone, purge.Timeout)
	}
}

func TestTheDefaultsAddNoRetriesToAJobWithoutAny(t *testing.T) {
	r, err := jobs.Parse("jobs.yaml", []byte(`
name: acme
targets: { lms: { urlEnv: LMS_URL } }
defaults: { target: lms, retry: { for: 10m, maxBackoff: 1m, jitter: 0.5 } }
jobs:
  - { id: once, schedule: '@hourly', path: /a, retry: { backoff: [] } }
  - { id: waits, schedule: '@hourly', path: /a, retry: { backoff: [1m] } }
`))
	if err != nil {
		t.Fatal(err)
	}
	if once := one(t, r, "once").Retry; len(once.Backoff) != 0 || once.For != 0 || once.Jitter != 0.5 {
		t.Errorf("a job without retries has %+v", once)
	}
	if waits := one(t, r, "waits").Retry; len(waits.Backoff) < 5 || waits.For != 10*time.Minute {
		t.Errorf("a job with one retry of its own has %+v", waits)
	}
}

// Of a job's fields, defaults have those that jobs can share.
func TestDefaultsInGoIgnoreWhatOnlyOneJobCanHave(t *testing.T) {
	j := release(nil)
	j.Timeout = 0
	r := build(t, j, jobs.Defaults{ID: "x", Path: "/x", Body: 1, KeyScope: "x", Metadata: jobs.Metadata{Description: "x"}, HeartbeatURLEnv: "X", Disabled: true, Timeout: time.Minute})
	want := one(t, build(t, release(func(j *jobs.Job) { j.Timeout = time.Minute })), "release")
	if got := one(t, r, "release"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestAMistakeInDefaultsIsReportedOnce(t *testing.T) {
	const head, tail = "name: acme\ntargets: { lms: { urlEnv: LMS_URL } }\ndefaults:\n  ", `
jobs:
  - { id: a, schedule: '@hourly', path: /a, target: lms }
  - { id: b, schedule: '@hourly', path: /b, target: lms }
`
	for line, want := range map[string]string{
		"timezone: Europe/Berln":      `4:13: invalid timezone "Europe/Berln": not in the time zone database`,
		"target: lsm":                 `4:11: unknown target "lsm"; declare it in targets; did you mean "lms"? [unknown_target]`,
		"overlap: forbid":             `4:12: unknown overlap "forbid"; valid values: skip, queue, allow; did you mean "skip"? [bad_value]`,
		"method: get":                 `4:11: unknown method "get"; valid values: POST, PUT, PATCH, DELETE, GET, HEAD; did you mean "GET"? [bad_value]`,
		"timeout: 800h":               `4:12: timeout 800h0m0s is too long; the maximum is 720h0m0s [bad_duration]`,
		"retry: { maxBackoff: 1m }":   `4:24: maxBackoff belongs to for; add for, e.g. ` + "`for: 30m`" + `, or remove it [needless_field]`,
		"retry: { bakoff: [1m] }":     `4:12: unknown field "bakoff" in defaults.retry; did you mean "backoff"? [unknown_field]`,
		"path: /a":                    `4:3: unknown field "path" in defaults [unknown_field]`,
		"headers: { Content-Type: a}": `4:14: the header Content-Type is the call`,
		"owner: \"a\\nb\"":            `4:10: owner has `,
		"labels: { \"a b\": c }":      `4:13: invalid label name "a b"`,
	} {
		_, err := jobs.Parse("f", []byte(head+line+tail))
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "f:"+want) {
			t.Errorf("%s: %v\nwant %s", line, err, want)
		}
	}
}
