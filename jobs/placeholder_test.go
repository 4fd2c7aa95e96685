package jobs_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

func TestPlaceholdersOfABody(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for _, tc := range []struct{ schedule, body, want string }{
		{"0 3 * * *", `{"id":"{{runId}}","of":"{{registry}}/{{jobId}}"}`, `{"id":"release@2026-11-21T03:00:00Z","of":"acme/release"}`},
		{"0 3 * * *", `{"from":"{{previousAt}}","to":"{{scheduledAt}}","next":"{{nextAt}}"}`,
			`{"from":"2026-11-20T03:00:00Z","to":"2026-11-21T03:00:00Z","next":"2026-11-22T03:00:00Z"}`},
		{"at(2026-11-21T03:00:00)", `{"a":"{{previousAt}}","b":"{{nextAt}}"}`, `{"a":"","b":""}`},
		{"0 3 * * *", `{"{{ jobId }}":["{{jobId}}{{jobId}}",{"n":{}}]}`, `{"release":["releaserelease",{"n":{}}]}`},
		{"0 3 * * *", `"{{{{jobId}} is {{jobId}}"`, `"{{jobId}} is release"`},
		{"0 3 * * *", `"{{{{{{{{"`, `"{{{{"`},
		{"0 3 * * *", `{"a":{"b":{}}}`, `{"a":{"b":{}}}`},
	} {
		r := build(t, release(func(j *jobs.Job) { j.Schedule, j.Body = tc.schedule, json.RawMessage(tc.body) }))
		j := one(t, r, "release")
		got := j.RequestBody(jobs.RunID(j.ID, at), at)
		if string(got) != tc.want || !json.Valid(got) {
			t.Errorf("%s: %s, want %s", tc.body, got, tc.want)
		}
		definition, _, _ := j.Definition()
		back, err := jobs.ParseDefinition(definition)
		if err != nil {
			t.Fatal(err)
		}
		if again := back.RequestBody(jobs.RunID(j.ID, at), at); string(again) != string(got) {
			t.Errorf("read from the ledger, it sends %s instead of %s", again, got)
		}
	}
}

// The interval of a run ends and begins at scheduled times, whatever the clocks did in
// it: 23, 24 or 25 hours.
func TestPlaceholdersFollowClockChanges(t *testing.T) {
	j := one(t, build(t, release(func(j *jobs.Job) {
		j.Schedule, j.Timezone = "0 0 * * *", "Europe/London"
		j.Body = "{{previousAt}} {{nextAt}}"
	})), "release")
	for at, want := range map[string]string{
		"2026-03-29T23:00:00Z": "2026-03-29T00:00:00Z 2026-03-30T23:00:00Z",
		"2026-10-26T00:00:00Z": "2026-10-24T23:00:00Z 2026-10-27T00:00:00Z",
	} {
		t0, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(j.RequestBody(jobs.RunID(j.ID, t0), t0)); got != `"`+want+`"` {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
	}
}

// A run beside the schedule has the interval since the last scheduled time.
func TestPlaceholdersOfATriggeredRun(t *testing.T) {
	j := one(t, build(t, release(func(j *jobs.Job) { j.Body = "{{runId}} {{previousAt}} {{scheduledAt}} {{nextAt}}" })), "release")
	at := time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)
	want := `"release@2026-11-21T15:04:05Z~t 2026-11-21T00:00:00Z 2026-11-21T15:04:05Z 2026-11-22T00:00:00Z"`
	if got := string(j.RequestBody(jobs.RunIDWithToken(j.ID, at, "t"), at)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A value is a part of the JSON string that it stands in, whatever it is.
func TestPlaceholdersAreEscaped(t *testing.T) {
	j := one(t, build(t, release(func(j *jobs.Job) { j.Body = map[string]string{"id": "{{runId}}"} })), "release")
	var got struct{ ID string }
	if err := json.Unmarshal(j.RequestBody("a\"\\\n<é", three), &got); err != nil || got.ID != "a\"\\\n<é" {
		t.Error(got, err)
	}
}

func TestUnknownPlaceholdersAreRefused(t *testing.T) {
	for body, want := range map[string]string{
		"{{scheduleAt}}":                  `unknown placeholder "scheduleAt"; valid names: jobId, runId, scheduledAt, previousAt, nextAt, registry; did you mean "scheduledAt"?; write {{{{ for a literal {{`,
		"{{secret}}":                      `unknown placeholder "secret"`,
		"{{}}":                            "{{ must be followed by a name and }}",
		"{{jobId":                         "{{ must be followed by a name and }}",
		"{{{jobId}}}":                     "{{ must be followed by a name and }}",
		"{{ .Env.SECRET }}":               "{{ must be followed by a name and }}",
		strings.Repeat("{{runId}}", 2050): "the body can have 262402 bytes with the values of its placeholders, the maximum is 262144",
	} {
		_, err := jobs.NewRegistry(jobs.Name("acme"), release(func(j *jobs.Job) { j.Body = body }))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", body, err, want)
		}
	}
}

// The registry's name is part of a definition only where a call could have it.
func TestADefinitionNamesItsRegistryForPlaceholders(t *testing.T) {
	for body, want := range map[string]bool{"{{registry}}": true, "plain": false} {
		definition, _, _ := one(t, build(t, release(func(j *jobs.Job) { j.Body = body })), "release").Definition()
		if got := strings.Contains(string(definition), `"registry":"acme"`); got != want {
			t.Errorf("%s: %s", body, definition)
		}
	}
}
