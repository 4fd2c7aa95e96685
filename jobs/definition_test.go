package jobs_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

func TestEveryDefaultOfAJob(t *testing.T) {
	j := one(t, build(t, release(nil)), "release")
	if j.ParsedSchedule() == nil {
		t.Error("the schedule is not parsed")
	}
	got, hash, err := j.Definition()
	if err != nil || len(hash) != 64 {
		t.Fatal(hash, err)
	}
	want := `{"v":1,"zones":"` + schedule.ZoneVersion() + `","id":"release","schedule":"@daily","timezone":"UTC","dst":"once",` +
		`"target":"env:ACME_URL","method":"POST","path":"/v1/release","timeout":30000000000,` +
		`"overlap":"skip","catchUp":"latest","catchUpWindow":86400000000000,"keyScope":"route:POST_/v1/release",` +
		`"backoff":[500000000,2000000000,5000000000,30000000000],"jitter":0.2,"maxRetryAfter":300000000000,"horizon":7395000000000,` +
		`"keySafeFor":72000000000000}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDefinitionsRoundTrip(t *testing.T) {
	r := build(t, release(func(j *jobs.Job) {
		j.Body, j.Scopes, j.MaxInFlight = map[string]string{"a": "<&>"}, []string{"x"}, 2
		j.Headers = map[string]string{"X-Edition": "2 of {{registry}}"}
		j.Metadata = jobs.Metadata{Description: "Früh <b>&amp;", Owner: "Billing", Labels: map[string]string{"b": "2", "a": "1"}}
		j.Timezone, j.Retry.Backoff = "Europe/London", []time.Duration{}
	}))
	for _, j := range r.Jobs() {
		body, hash, err := j.Definition()
		if err != nil {
			t.Fatal(err)
		}
		back, err := jobs.ParseDefinition(body)
		if err != nil {
			t.Fatal(err)
		}
		again, hashAgain, _ := back.Definition()
		if string(again) != string(body) || hashAgain != hash {
			t.Errorf("%s\ncame back as\n%s", body, again)
		}
		if got, want := back.ParsedSchedule().Next(three), j.ParsedSchedule().Next(three); !got.Equal(want) || got.IsZero() {
			t.Errorf("%s: next %v, want %v", j.ID, got, want)
		}
		if got, want := back.RequestBody("r", three), j.RequestBody("r", three); string(got) != string(want) {
			t.Errorf("%s: body %s, want %s", j.ID, got, want)
		}
	}
}

func TestDefinitionsThatCannotBeReadAreRefused(t *testing.T) {
	body, _, _ := one(t, build(t, release(nil)), "release").Definition()
	for rule, bad := range map[string]string{
		"not JSON":            "{",
		"empty":               "",
		"of another version":  strings.Replace(string(body), `"v":1`, `"v":2`, 1),
		"without a schedule":  strings.Replace(string(body), `"@daily"`, `""`, 1),
		"of an unknown place": strings.Replace(string(body), `"UTC"`, `"Mars/Olympus"`, 1),
	} {
		if j, err := jobs.ParseDefinition([]byte(bad)); err == nil || j.ID != "" {
			t.Errorf("%s: %+v, %v", rule, j, err)
		}
	}
	if _, err := jobs.ParseDefinition([]byte(strings.Replace(string(body), `"v":1`, `"v":1,"new":true`, 1))); err != nil {
		t.Errorf("a field that a newer program added: %v", err)
	}
}

func TestRequestBodyIsTheSameOnEveryAttempt(t *testing.T) {
	j := one(t, build(t, release(nil)), "release")
	id := jobs.RunID(j.ID, three)
	want := `{"jobId":"release","runId":"release@2026-11-21T03:00:00Z","scheduledAt":"2026-11-21T03:00:00Z"}`
	for _, at := range []time.Time{three, three.In(time.FixedZone("CET", 3600))} {
		if got := j.RequestBody(id, at); string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	get := one(t, build(t, release(func(j *jobs.Job) { j.Method = "GET" })), "release")
	if got := get.RequestBody(id, three); got != nil {
		t.Errorf("a GET with the body %s", got)
	}
	raw := one(t, build(t, release(func(j *jobs.Job) { j.Body = json.RawMessage(`{ "b": 1, "a": 2 }`) })), "release")
	if got := raw.RequestBody(id, three); string(got) != `{"b":1,"a":2}` {
		t.Errorf("raw JSON became %s", got)
	}
}

// The body is written by hand where that is safe.
func TestTheDefaultBodyIsWhatJSONEncodingWrites(t *testing.T) {
	texts := []string{"", "release", "a.b-c_9", `a"b`, `a\b`, "a\nb", "<a&b>", "a\u2028b", "\u00e9", "\xff", "\x7f", "~ {}"}
	for _, id := range texts {
		for _, runID := range texts {
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(struct {
				JobID       string `json:"jobId"`
				RunID       string `json:"runId"`
				ScheduledAt string `json:"scheduledAt"`
			}{id, runID, "2026-11-21T03:00:00Z"}); err != nil {
				t.Fatal(err)
			}
			if got := (jobs.Job{ID: id}).RequestBody(runID, three); string(got)+"\n" != want.String() {
				t.Errorf("%q, %q: got %s, want %s", id, runID, got, &want)
			}
		}
	}
}
