package retention_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
)

func job(edit func(*jobs.Job)) jobs.Job {
	j := jobs.Job{ID: "pay", Schedule: "0 3 * * *", TargetURLEnv: "PAY_URL", Path: "/v1/payments"}
	if edit != nil {
		edit(&j)
	}
	return j
}

func registry(t testing.TB, entries ...jobs.Entry) *jobs.Registry {
	t.Helper()
	r, err := jobs.NewRegistry(append(entries, jobs.Name("acme"))...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const payments = "route:POST_/v1/payments"

func TestDefaultHorizonAddsUpRetriesTimeoutsAndAges(t *testing.T) {
	r := registry(t, job(nil))
	j, _ := r.Job("pay")
	p := retention.ProofOf(r, j)
	horizon, terms := p.Horizon, p.Terms
	waits := (500*time.Millisecond + 2*time.Second + 5*time.Second + 30*time.Second) * 12 / 10
	want := waits + 5*30*time.Second + time.Hour + time.Hour
	if horizon != want || terms.Sum() != want || terms.Backoff != waits || terms.Attempts != 5 {
		t.Errorf("horizon %v, terms %+v; want %v", horizon, terms, want)
	}
}

func TestDefaultHorizonIsAtLeastAnHour(t *testing.T) {
	r := registry(t, job(nil), jobs.Platform{EventAge: -1, LambdaEventAge: -1})
	j, _ := r.Job("pay")
	if horizon := retention.ProofOf(r, j).Horizon; horizon != time.Hour {
		t.Errorf("horizon %v, want 1h", horizon)
	}
}

func TestProofHoldsOnlyWhenTheKeyOutlivesHorizonAndSkew(t *testing.T) {
	const horizon = 6 * time.Hour
	for _, tc := range []struct {
		rule  string
		ttl   time.Duration
		holds bool
	}{
		{"a nanosecond over", horizon + jobs.MaxClockSkew + 1, true},
		{"exactly the sum: the key may be gone at the last moment", horizon + jobs.MaxClockSkew, false},
		{"longer than the horizon alone", horizon + jobs.MaxClockSkew - 1, false},
		{"shorter than the horizon", horizon - 1, false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			r := registry(t, jobs.KeyTTL{Scope: payments, TTL: tc.ttl},
				job(func(j *jobs.Job) { j.Retry.Horizon = horizon }))
			if got := len(retention.Prove(r)) == 0; got != tc.holds {
				t.Errorf("holds: %v, want %v", got, tc.holds)
			}
		})
	}
}

func TestAWSDefaultAgesExceedTheDefaultTTL(t *testing.T) {
	r := registry(t, job(nil), jobs.Platform{EventAge: 24 * time.Hour, LambdaEventAge: 6 * time.Hour})
	problems := retention.Prove(r)
	if len(problems) != 1 || problems[0].Code != jobs.CodeRetention || problems[0].Job != "pay" {
		t.Fatalf("problems: %v", problems)
	}
	for _, want := range []string{
		`"` + payments + `" live 24h (the default, since no keyTTLs scope covers it)`,
		"up to 30h3m15s after the first",
		"backoff with jitter 45s + 5 timeouts 2m30s + eventAge 24h + lambdaEventAge 6h + queueAge 0s, at least 1h",
		"differ by 5m",
		"above 30h8m15s",
		"retry.horizon below 23h55m",
	} {
		if !strings.Contains(problems[0].Message, want) {
			t.Errorf("the message lacks %q:\n%s", want, problems[0].Message)
		}
	}
}

func TestRefusalNamesTheRuleThatTheTTLIsFrom(t *testing.T) {
	r := registry(t, job(nil), jobs.KeyTTL{Scope: "route:*", TTL: time.Minute})
	problems := retention.Prove(r)
	if len(problems) != 1 || !strings.Contains(problems[0].Message, `live 1m (keyTTLs scope "route:*")`) {
		t.Fatalf("problems: %v", problems)
	}
	if strings.Contains(problems[0].Message, "set the job's retry.horizon") {
		t.Error("no horizon is short enough for a key that lives less than the skew, and the message advises one")
	}
}

// What would not help is not advised; what is advised helps.
func TestRefusalOffersOnlyWhatWouldMendIt(t *testing.T) {
	const hour, minute = time.Hour, time.Minute
	for _, tc := range []struct {
		rule string
		ages jobs.Platform
		job  func(*jobs.Job)
		ttl  time.Duration
		want []string // after the first way, which is always a longer ttl
		ttls string
	}{
		{
			"a horizon that is set does not follow the ages", jobs.Platform{EventAge: 24 * hour},
			func(j *jobs.Job) { j.Retry.Horizon = 30 * hour }, 24 * hour,
			[]string{"set the job's retry.horizon below 23h55m, so that later retries are not made"}, "above 30h5m",
		},
		{
			"the least horizon is not less for lower ages", jobs.Platform{EventAge: -1, LambdaEventAge: -1}, nil, hour,
			[]string{"set the job's retry.horizon below 55m, so that later retries are not made"}, "above 1h5m",
		},
		{
			"ages cannot bring the horizon below its least", jobs.Platform{EventAge: 24 * hour}, nil, 65 * minute,
			[]string{"set the job's retry.horizon below 1h, so that later retries are not made"}, "above 25h8m15s",
		},
		{
			"no horizon is short enough for a key that lives no longer than the skew", jobs.Platform{}, nil, 5 * minute,
			nil, "above 2h8m15s",
		},
		{
			"one age alone", jobs.Platform{EventAge: 24 * hour}, nil, 24 * hour,
			[]string{"set the job's retry.horizon below 23h55m, so that later retries are not made", "lower platform.eventAge to less than 22h51m45s"}, "above 25h8m15s",
		},
		{
			"any of three terms", jobs.Platform{EventAge: 2 * hour, LambdaEventAge: -1},
			func(j *jobs.Job) { j.Timeout = hour; j.Retry.Backoff = []time.Duration{10 * hour}; j.Retry.Jitter = -1 }, 13*hour + 5*minute,
			[]string{
				"set the job's retry.horizon below 13h, so that later retries are not made", "lower platform.eventAge to less than 1h",
				"lower the job's timeout to less than 30m", "lower its backoff, jitter included, to less than 9h",
			}, "above 14h5m",
		},
		{
			"no term alone, all together", jobs.Platform{EventAge: 2 * hour, LambdaEventAge: 2 * hour}, nil, hour + 10*minute,
			[]string{
				"set the job's retry.horizon below 1h5m, so that later retries are not made",
				"take more than 2h58m15s off platform's ages, timeouts and backoff together",
			}, "above 4h8m15s",
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			problems := retention.Prove(registry(t, tc.ages, job(tc.job), jobs.KeyTTL{Scope: payments, TTL: tc.ttl}))
			if len(problems) != 1 {
				t.Fatalf("problems: %v", problems)
			}
			_, remedy, _ := strings.Cut(problems[0].Message, "To correct it, ")
			ways := strings.Split(remedy, "; or ")
			if !strings.Contains(ways[0], tc.ttls) || !slices.Equal(ways[1:], tc.want) {
				t.Errorf("%q", ways)
			}
		})
	}
}

func TestWhatTheRefusalOffersHelps(t *testing.T) {
	ages := jobs.Platform{EventAge: 2 * time.Hour, LambdaEventAge: -1}
	edit := func(j *jobs.Job) {
		j.Timeout = time.Hour
		j.Retry.Backoff = []time.Duration{10 * time.Hour}
		j.Retry.Jitter = -1
	}
	for _, tc := range []struct {
		way  string
		ages jobs.Platform
		edit func(*jobs.Job)
	}{
		{"eventAge", jobs.Platform{EventAge: time.Hour - time.Millisecond, LambdaEventAge: -1}, edit},
		{"timeout", ages, func(j *jobs.Job) { edit(j); j.Timeout = 30*time.Minute - time.Millisecond }},
		{"backoff", ages, func(j *jobs.Job) { edit(j); j.Retry.Backoff[0] = 9*time.Hour - time.Millisecond }},
		{"retry.horizon", ages, func(j *jobs.Job) { edit(j); j.Retry.Horizon = 13*time.Hour - time.Millisecond }},
	} {
		t.Run(tc.way, func(t *testing.T) {
			ttl := jobs.KeyTTL{Scope: payments, TTL: 13*time.Hour + jobs.MaxClockSkew}
			if problems := retention.Prove(registry(t, tc.ages, job(tc.edit), ttl)); len(problems) > 0 {
				t.Error(problems)
			}
		})
	}
}

func TestRefusalStandsAtTheKeyScopeElseAtTheJob(t *testing.T) {
	const file = "name: acme\njobs:\n" +
		"  - { id: a, schedule: '@daily', targetUrlEnv: A, path: /a, keyScope: short }\n" +
		"  - { id: b, schedule: '@daily', targetUrlEnv: A, path: /b }\n" +
		"keyTTLs: [ { scope: 'short', ttl: 1h }, { scope: 'route:POST_/b', ttl: 1h } ]\n"
	r, err := jobs.Parse("cronce.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range retention.Prove(r) {
		got = append(got, fmt.Sprintf("%s:%d:%d %s", p.File, p.Line, p.Column, p.Job))
	}
	want := "[cronce.yaml:3:71 a cronce.yaml:4:5 b]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBuiltInJobNeedsNoProof(t *testing.T) {
	if proofs := retention.Proofs(registry(t)); len(proofs) != 0 {
		t.Errorf("proofs of a registry without jobs: %+v", proofs)
	}
}

func TestExampleIsProven(t *testing.T) {
	r, err := jobs.Load("../../examples/registry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if problems := retention.Prove(r); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestATemplateIsProvedLikeAJob(t *testing.T) {
	r, err := jobs.Parse("jobs.yaml", []byte(`{name: acme, keyTTLs: [{scope: "route:POST_/v1/*", ttl: 1h}], jobs: [{id: a, keyed: {max: 1}, targetUrlEnv: A, path: "/v1/{{key}}"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	problems := retention.Prove(r)
	if len(problems) != 1 || problems[0].Job != "a" || problems[0].Code != jobs.CodeRetention {
		t.Errorf("got %v, want the template's keys refused", problems)
	}
}
