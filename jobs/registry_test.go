package jobs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

func release(edit func(*jobs.Job)) jobs.Job {
	j := jobs.Job{ID: "release", Schedule: "@daily", TargetURLEnv: "ACME_URL", Path: "/v1/release"}
	if edit != nil {
		edit(&j)
	}
	return j
}

func build(t testing.TB, entries ...jobs.Entry) *jobs.Registry {
	t.Helper()
	r, err := jobs.NewRegistry(append(entries, jobs.Name("acme"))...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func one(t testing.TB, r *jobs.Registry, id string) jobs.Job {
	t.Helper()
	j, ok := r.Job(id)
	if !ok {
		t.Fatalf("no job %q", id)
	}
	return j
}

func TestGoAndFileGiveTheSameRegistry(t *testing.T) {
	fromFile, err := jobs.Load("../examples/registry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const hour = time.Hour
	fromGo, err := jobs.NewRegistry(
		jobs.Cleanup{Schedule: "30 3 * * *", LedgerRetention: 720 * hour},
		jobs.KeyStore{Name: "accounting", URLEnv: "ACCOUNTING_DATABASE_URL", Schema: "accounting"},
		jobs.KeyTTL{Scope: "route:POST_/v1/payments", TTL: 168 * hour},
		jobs.KeyTTL{Scope: "event:*", TTL: 720 * hour},
		jobs.Job{
			ID: "release-commission-locks", Schedule: "cron(0 * * * ? *)",
			TargetURLEnv: "MEMBERSHIP_URL", Path: "/v1/admin/commission-locks/release-expired",
			Scopes: []string{"membership:admin"}, Body: map[string]string{"reason": "hold expired"},
			Spread: 5 * time.Minute, Headers: map[string]string{"X-Interval": "{{previousAt}}/{{scheduledAt}}"},
			Async: jobs.Async{Within: 6 * hour}, Retry: jobs.Retry{For: hour / 2}, Alarm: jobs.Alarm{StartWithin: 5 * time.Minute},
			Metadata: jobs.Metadata{Description: "Releases commission locks whose hold has expired.", Owner: "Membership team", Labels: map[string]string{"tier": "critical"}},
		},
		jobs.Defaults{Metadata: jobs.Metadata{Owner: "Platform team", Labels: map[string]string{"env": "prod"}}},
		jobs.Alarm{StartWithin: time.Minute, FinishWithin: hour},
		jobs.Channel{Name: "oncall", Type: jobs.ChannelPagerDuty, Key: jobs.Secret{Env: "PD_KEY"}, On: []string{"dead", "late", "missed"}, Remind: 6 * hour},
		jobs.Channel{Name: "ops", Type: jobs.ChannelSlack, URLEnv: "SLACK_URL", Jobs: []string{"release-*"}, After: 2},
		jobs.Channel{Name: "hub", Type: jobs.ChannelWebhook, URLEnv: "HUB_URL", Secret: jobs.Secret{Env: "HUB_SECRET"}},
		jobs.Channel{Name: "am", Type: jobs.ChannelAlertmanager, URLEnv: "ALERTMANAGER_URL"},
		jobs.Channel{Name: "mail", Type: jobs.ChannelEmail, SMTP: jobs.Secret{Env: "SMTP_URL"}, To: []string{"ops@example.com"}},
		jobs.Heartbeat{URLEnv: "HEALTHCHECK_URL"},
		jobs.Target{Name: "membership", URLEnv: "MEMBERSHIP_URL", Auth: jobs.Auth{
			Type: jobs.AuthOAuth2, TokenURLEnv: "AUTH_TOKEN_URL", ClientID: jobs.Secret{Env: "AUTH_CLIENT_ID"}, ClientSecret: jobs.Secret{Env: "AUTH_CLIENT_SECRET"}}},
		jobs.Name("acme-platform"),
	)
	if err != nil {
		t.Fatal(err)
	}
	if fromFile.Version() != fromGo.Version() || fromFile.Name() != fromGo.Name() {
		t.Errorf("versions %s and %s, names %s and %s", fromFile.Version(), fromGo.Version(), fromFile.Name(), fromGo.Name())
	}
	for _, pair := range [][2]any{
		{fromFile.Targets(), fromGo.Targets()}, {fromFile.KeyTTLs(), fromGo.KeyTTLs()}, {fromFile.KeyStores(), fromGo.KeyStores()},
		{fromFile.Platform(), fromGo.Platform()}, {fromFile.Cleanup(), fromGo.Cleanup()},
		{fromFile.Channels(), fromGo.Channels()}, {fromFile.Heartbeat(), fromGo.Heartbeat()},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("file %+v\ngo   %+v", pair[0], pair[1])
		}
	}
}

func TestBuiltInJobIsInEveryRegistry(t *testing.T) {
	j := one(t, build(t), jobs.PurgeJobID)
	if j.Target != jobs.BuiltinTarget || j.Schedule != "30 3 * * *" || j.Timezone != "UTC" || j.Timeout != time.Hour || j.Disabled {
		t.Errorf("got %+v", j)
	}
	j = one(t, build(t, jobs.Cleanup{Schedule: "0 5 * * *", Timeout: 2 * time.Hour}), jobs.PurgeJobID)
	if j.Schedule != "0 5 * * *" || j.Timeout != 2*time.Hour {
		t.Errorf("not rescheduled: %+v", j)
	}
	r, err := jobs.Parse("f", []byte("name: acme\ncleanup: { enabled: false, reason: pg_cron does it }\n"))
	if err != nil {
		t.Fatal(err)
	}
	if j := one(t, r, jobs.PurgeJobID); !j.Disabled || r.Cleanup().DisabledBecause != "pg_cron does it" {
		t.Errorf("switched off for a reason, it stays listed: %+v", j)
	}
}

func TestJobsAreSortedByID(t *testing.T) {
	r := build(t, release(nil), release(func(j *jobs.Job) { j.ID = "a" }), release(func(j *jobs.Job) { j.ID = "z" }))
	var ids []string
	for _, j := range r.Jobs() {
		ids = append(ids, j.ID)
	}
	if want := []string{"a", jobs.PurgeJobID, "release", "z"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
}

func TestARegistryDoesNotChangeWithWhatItWasMadeFrom(t *testing.T) {
	scopes, backoff := []string{"a"}, []time.Duration{time.Second}
	ttls := []jobs.KeyTTL{{Scope: "event:*", TTL: time.Hour}}
	r := build(t, ttls[0], release(func(j *jobs.Job) { j.Scopes, j.Retry.Backoff = scopes, backoff }))
	scopes[0], backoff[0] = "b", time.Hour
	r.KeyTTLs()[0].TTL = 0
	r.Jobs()[0] = jobs.Job{}
	j := one(t, r, "release")
	if j.Scopes[0] != "a" || j.Retry.Backoff[0] != time.Second || r.KeyTTLs()[0].TTL != time.Hour || r.Jobs()[0].ID == "" {
		t.Errorf("changed: %+v", j)
	}
}

func TestZeroIsTheDefaultAndNoneHasItsOwnWord(t *testing.T) {
	r := build(t, jobs.Platform{EventAge: -1, QueueAge: time.Minute}, release(func(j *jobs.Job) {
		j.Retry = jobs.Retry{Backoff: []time.Duration{}, Jitter: -1}
	}))
	j := one(t, r, "release")
	if j.Retry.Jitter != 0 || len(j.Retry.Backoff) != 0 || j.Retry.MaxRetryAfter != 5*time.Minute {
		t.Errorf("retry %+v", j.Retry)
	}
	if want := (jobs.Platform{EventAge: 0, LambdaEventAge: time.Hour, QueueAge: time.Minute}); r.Platform() != want {
		t.Errorf("platform %+v", r.Platform())
	}
	fromFile, err := jobs.Parse("f", []byte(lines("name: acme", "platform: { eventAge: 0s, queueAge: 1m }", "jobs:",
		"- { id: release, schedule: '@daily', targetUrlEnv: ACME_URL, path: /v1/release, retry: { backoff: [], jitter: 0 } }")))
	if err != nil {
		t.Fatal(err)
	}
	if fromFile.Version() != r.Version() || fromFile.Platform() != r.Platform() {
		t.Errorf("the file differs: %+v", one(t, fromFile, "release").Retry)
	}
}

func TestShortFormMeansTheDeclaredTargetOfItsVariable(t *testing.T) {
	auth := jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "TOKEN"}}
	r := build(t, release(nil), jobs.Target{Name: "acme", URLEnv: "ACME_URL", Auth: auth})
	j := one(t, r, "release")
	target, ok := r.Target(j.Target)
	if j.Target != "acme" || j.TargetURLEnv != "" || !ok || !reflect.DeepEqual(target.Auth, auth) || len(r.Targets()) != 1 {
		t.Errorf("target %q, %+v", j.Target, r.Targets())
	}
	r = build(t, release(nil), release(func(j *jobs.Job) { j.ID = "b" }))
	want := []jobs.Target{{Name: "env:ACME_URL", URLEnv: "ACME_URL", Auth: jobs.Auth{Type: jobs.AuthNone}}}
	if got := r.Targets(); !reflect.DeepEqual(got, want) || one(t, r, "b").Target != "env:ACME_URL" {
		t.Errorf("got %+v", got)
	}
}

func TestTTLIsTheExactScopesThenTheLongestStars(t *testing.T) {
	const hour = time.Hour
	r := build(t,
		jobs.KeyTTL{Scope: "event:*", TTL: 2 * hour},
		jobs.KeyTTL{Scope: "event:order.*", TTL: 3 * hour},
		jobs.KeyTTL{Scope: "event:order.placed", TTL: 4 * hour},
		jobs.KeyTTL{Scope: "event:order.placed*", TTL: 5 * hour},
	)
	for _, tc := range []struct {
		scope, pattern string
		ttl            time.Duration
	}{
		{"event:order.placed", "event:order.placed", 4 * hour},
		{"event:order.placed.v1", "event:order.placed*", 5 * hour},
		{"event:order.paid", "event:order.*", 3 * hour},
		{"event:", "event:*", 2 * hour},
		{"events", "", 24 * hour},
		{"", "", 24 * hour},
	} {
		if ttl, pattern := r.TTL(tc.scope); ttl != tc.ttl || pattern != tc.pattern {
			t.Errorf("TTL(%q) = %v, %q; want %v, %q", tc.scope, ttl, pattern, tc.ttl, tc.pattern)
		}
	}
	if ttl, pattern := build(t, jobs.KeyTTL{Scope: "*", TTL: hour}).TTL("x"); ttl != hour || pattern != "*" {
		t.Errorf("a star alone is everything: %v, %q", ttl, pattern)
	}
}

func TestVersionIsThatOfTheDefinitionsThatRun(t *testing.T) {
	base := build(t, release(nil)).Version()
	same := build(t, jobs.Target{Name: "other", URLEnv: "B"}, release(func(j *jobs.Job) { j.Timeout = 30 * time.Second }),
		release(func(j *jobs.Job) { j.ID, j.Disabled = "off", true })).Version()
	if base != same {
		t.Error("defaults written out, disabled jobs and targets that no job has are no other version")
	}
	for rule, edit := range map[string]func(*jobs.Job){
		"schedule": func(j *jobs.Job) { j.Schedule = "@hourly" },
		"zone":     func(j *jobs.Job) { j.Timezone = "Europe/London" },
		"dst":      func(j *jobs.Job) { j.DST = schedule.DSTWall },
		"target":   func(j *jobs.Job) { j.TargetURLEnv = "OTHER_URL" },
		"path":     func(j *jobs.Job) { j.Path = "/v2" },
		"method":   func(j *jobs.Job) { j.Method = "PUT" },
		"body":     func(j *jobs.Job) { j.Body = map[string]int{"a": 1} },
		"scopes":   func(j *jobs.Job) { j.Scopes = []string{"a"} },
		"timeout":  func(j *jobs.Job) { j.Timeout = time.Minute },
		"backoff":  func(j *jobs.Job) { j.Retry.Backoff = []time.Duration{1} },
		"jitter":   func(j *jobs.Job) { j.Retry.Jitter = 0.1 },
		"horizon":  func(j *jobs.Job) { j.Retry.Horizon = time.Hour },
		"overlap":  func(j *jobs.Job) { j.Overlap = jobs.OverlapQueue },
		"catchUp":  func(j *jobs.Job) { j.CatchUp = jobs.CatchUpAll },
		"window":   func(j *jobs.Job) { j.CatchUpWindow = time.Hour },
		"keyScope": func(j *jobs.Job) { j.KeyScope = "x" },
		"inFlight": func(j *jobs.Job) { j.MaxInFlight = 3 },
		"disabled": func(j *jobs.Job) { j.Disabled = true },
	} {
		if build(t, release(edit)).Version() == base {
			t.Errorf("an edit of %s is no other version", rule)
		}
	}
}

func TestProblemsInGoNameTheJob(t *testing.T) {
	_, err := jobs.NewRegistry(
		release(func(j *jobs.Job) { j.Timeout = -time.Second; j.Body = func() {} }),
		release(nil),
		jobs.Cleanup{}, jobs.Cleanup{}, jobs.Platform{}, jobs.Platform{},
		jobs.Target{Name: "x", URLEnv: "X"}, jobs.Target{Name: "x", URLEnv: "X"},
		jobs.Job{Retry: jobs.Retry{Horizon: -1, MaxRetryAfter: -1, Backoff: make([]time.Duration, 101), Jitter: 2}, CatchUpWindow: -1},
		jobs.KeyTTL{Scope: "a", TTL: -1},
		jobs.Name("a"), jobs.Name("b"),
	)
	var problems jobs.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	golden(t, "testdata/problems_go.golden", err.Error()+"\n")
}

func TestProblemsAsJSON(t *testing.T) {
	_, err := jobs.Parse("f.yaml", []byte("name: a\njobs: [ { id: A, schedule: '@daily', targetUrlEnv: A, path: /a } ]"))
	data, _ := json.Marshal(err)
	want := `[{"file":"f.yaml","line":2,"column":15,"job":"A","code":"bad_id","message":`
	if !strings.HasPrefix(string(data), want) {
		t.Errorf("got %s", data)
	}
}

func TestManyProblemsAreFoundInBoundedTime(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: acme\njobs:\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "  - { id: same, schedule: nonsense-%d, target: none, path: x }\n", i)
	}
	_, err := jobs.Parse("f", []byte(b.String()))
	var problems jobs.Problems
	if !errors.As(err, &problems) || len(problems) != 4*5000-1 {
		t.Errorf("%d problems", len(problems))
	}
}

// A one-time job and a list of years may be wholly in the past, or disabled, or
// have one time to come.
func TestJobsThatNeverRunAgainAreWarnings(t *testing.T) {
	r, err := jobs.Parse("cronce.yaml", []byte(`name: acme
jobs:
  - { id: once, schedule: 'at(2026-01-01T00:00:00)', targetUrlEnv: A_URL, path: /a }
  - { id: years, schedule: 'cron(0 0 1 1 ? 2024,2025)', targetUrlEnv: A_URL, path: /a }
  - { id: last, schedule: 'at(2026-11-21T12:00:01)', targetUrlEnv: A_URL, path: /a }
  - { id: off, schedule: 'at(2026-01-01T00:00:00)', targetUrlEnv: A_URL, path: /a, enabled: false }
  - { id: daily, schedule: '@daily', targetUrlEnv: A_URL, path: /a }
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range r.Warnings(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)) {
		got = append(got, fmt.Sprintf("%d:%d %s %s", w.Line, w.Column, w.Job, w.Code))
	}
	if want := []string{"3:27 once never_again", "4:28 years never_again"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.Warnings(time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC)); len(got) != 3 {
		t.Errorf("at the last time: %v", got)
	}
}

// An old database matters only to jobs that run and whose time zone has laws.
func TestOldZonesAreAWarning(t *testing.T) {
	year := schedule.ZonesReleased().AddDate(1, 0, 0)
	for _, c := range []struct {
		job  string
		now  time.Time
		want int
	}{
		{"timezone: Europe/London", year.Add(time.Second), 1},
		{"timezone: Europe/London", year, 0},
		{"timezone: UTC", year.Add(time.Second), 0},
		{"timezone: Europe/London, enabled: false", year.Add(time.Second), 0},
	} {
		r, err := jobs.Parse("cronce.yaml", []byte("name: acme\njobs:\n  - { id: a, schedule: '@daily', targetUrlEnv: A_URL, path: /a, "+c.job+" }\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := r.Warnings(c.now)
		if len(got) != c.want || c.want == 1 && (got[0].Code != "old_zones" || !strings.Contains(got[0].Message, "CRONCE_ZONEINFO")) {
			t.Errorf("%s at %v: %v", c.job, c.now, got)
		}
	}
}

// Quartz counts weekdays from SUN=1. Its schedules have six fields and ?.
func TestWeekdaysOfQuartzAreAWarning(t *testing.T) {
	for text, warned := range map[string]bool{
		"0 0 9 ? * 2-6": true, "0 0 9 ? * 2": true, "0 0 9 ? * MON,4": true, "0 0 9 ? * 6L": true, "0 0 9 ? * 2#1": true, "CRON_TZ=Europe/London 0 0 9 ? * 2-6": true,
		"0 0 9 ? * MON-FRI": false, "0 0 9 ? * MON#1": false, "0 0 9 ? * */2": false, "0 0 9 ? * MON-FRI/2": false, "0 0 9 * * 2-6": false, "0 0 9 1 * ?": false,
		"0 9 ? * 2-6": false, "cron(0 9 ? * 2-6 *)": false,
	} {
		r, err := jobs.Parse("cronce.yaml", []byte("name: acme\njobs:\n  - { id: a, schedule: '"+text+"', targetUrlEnv: A_URL, path: /a }\n"))
		if err != nil {
			t.Fatal(text, err)
		}
		got := r.Warnings(schedule.ZonesReleased())
		if (len(got) == 1) != warned || warned && (got[0].Code != "quartz_weekdays" || got[0].Line != 3 || !strings.Contains(got[0].Message, "MON-FRI")) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A file that was cut off, or whose jobs are commented out, is valid and worth a word.
func TestARegistryWithoutJobsIsAWarning(t *testing.T) {
	for text, want := range map[string]string{
		"name: acme\n": "no_jobs", "name: acme\njobs:\n": "no_jobs", "name: acme\njobs: []\n": "no_jobs",
		"name: acme\njobs: [ { id: a, schedule: '@daily', targetUrlEnv: A_URL, path: /a, enabled: false } ]\n": "",
	} {
		r, err := jobs.Parse("cronce.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range r.Warnings(schedule.ZonesReleased()) {
			got += w.Code
		}
		if got != want || r.Empty() != (want != "") {
			t.Errorf("%q: %q, empty: %v", text, got, r.Empty())
		}
	}
}

// What is found in a registry without places names its file, but no line.
func TestARegistryWithoutPlacesIsTheSameButForLines(t *testing.T) {
	reg, err := jobs.Parse("f.yaml", []byte("name: acme\njobs:\n  - {id: a, schedule: \"at(2020-01-01T00:00:00)\", targetUrlEnv: A, path: /}\n"))
	if err != nil {
		t.Fatal(err)
	}
	bare := reg.WithoutPlaces()
	if bare.Version() != reg.Version() || bare.Len() != reg.Len() {
		t.Errorf("version %s with %d jobs, want %s with %d", bare.Version(), bare.Len(), reg.Version(), reg.Len())
	}
	now := time.Now()
	with, without := reg.Warnings(now), bare.Warnings(now)
	if len(with) == 0 || with[0].Line != 3 || len(without) != len(with) || without[0].Line != 0 || without[0].File != "f.yaml" {
		t.Errorf("found %v, without places %v", with, without)
	}
}
