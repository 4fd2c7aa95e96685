package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

const templateFile = `
name: acme
targets: { reports: { urlEnv: REPORTS_URL } }
jobs:
  - id: customer-report
    keyed: { max: 100000, retention: 24h, schema: { type: object, required: [format] } }
    target: reports
    path: "/v1/reports/{{key}}?format={{data.format}}"
    headers: { X-Customer: "{{key}}" }
    timezone: Europe/Berlin
    body: { to: "{{data.to}}", pages: "{{data.pages}}", note: "{{key}}: {{data.pages}} pages in {{data.format}}", run: "{{runId}}", all: "{{data}}" }
`

func template(t *testing.T, file string) jobs.Template {
	t.Helper()
	r, err := jobs.Parse("jobs.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	list := r.Templates()
	if len(list) != 1 {
		t.Fatalf("%d templates", len(list))
	}
	if _, found := r.Job(list[0].ID); found {
		t.Error("Jobs contains the template, so it would be planned")
	}
	return list[0]
}

func TestATemplateOfTheFileHasItsTerms(t *testing.T) {
	got := template(t, templateFile)
	if got.Max != 100000 || got.Retention != 24*time.Hour || string(got.Schema) != `{"required":["format"],"type":"object"}` {
		t.Errorf("%d %s %s", got.Max, got.Retention, got.Schema)
	}
	if got.KeyScope != "route:POST_/v1/reports/{key}" {
		t.Errorf("key scope %q, want the route as routers write it", got.KeyScope)
	}
}

func TestATemplateMakesTheCallOfAKey(t *testing.T) {
	s, err := template(t, templateFile).Check(jobs.KeyedSchedule{
		Key: "acme-1", Schedule: "0 7 * * 1-5",
		Data: []byte(`{"to":["a","b"],"pages":12345678901234567890,"format":"p/d&f?\"{{runId}}"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	j, err := template(t, templateFile).JobOf(s, new(jobs.ScheduleCache))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 26, 6, 0, 0, 0, time.UTC)
	id := jobs.RunID(j.ID, at)
	for _, tc := range []struct{ what, got, want string }{
		{"ID", j.ID, "customer-report:acme-1"},
		{"run ID", id, "customer-report:acme-1@2026-11-26T06:00:00Z"},
		{"time zone", j.Timezone, "Europe/Berlin"},
		{"next", j.ParsedSchedule().Next(at).String(), "2026-11-27 06:00:00 +0000 UTC"},
		{"path, escaped", j.Path, "/v1/reports/acme-1?format=p%2Fd%26f%3F%22%7B%7BrunId%7D%7D"},
		{"header", j.RequestHeaders(id, at)["X-Customer"], "acme-1"},
		{
			"body: whole values keep their type, and data is not expanded again", string(j.RequestBody(id, at)),
			`{"all":{"format":"p/d&f?\"{{runId}}","pages":12345678901234567890,"to":["a","b"]},"note":"acme-1: 12345678901234567890 pages in p/d&f?\"{{runId}}",` +
				`"pages":12345678901234567890,"run":"customer-report:acme-1@2026-11-26T06:00:00Z","to":["a","b"]}`,
		},
	} {
		if tc.got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.what, tc.got, tc.want)
		}
	}
}

func TestATemplateWithoutBodySendsKeyAndData(t *testing.T) {
	tmpl := template(t, "name: acme\njobs: [{ id: a, keyed: { max: 1 }, targetUrlEnv: A, path: /a }]")
	j, err := tmpl.JobOf(jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"n":1}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(0, 0)
	if got, want := string(j.RequestBody(jobs.RunID(j.ID, at), at)),
		`{"jobId":"a:k","runId":"a:k@1970-01-01T00:00:00Z","scheduledAt":"1970-01-01T00:00:00Z","key":"k","data":{"n":1}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestAScheduleIsRefusedThatCouldNotBeCalled(t *testing.T) {
	tmpl := template(t, templateFile)
	good := `{"to":"a","pages":1,"format":"pdf"}`
	for _, tc := range []struct {
		what string
		s    jobs.KeyedSchedule
		want string
	}{
		{"no key", jobs.KeyedSchedule{Schedule: "@daily"}, `invalid key ""`},
		{"a key with a slash", jobs.KeyedSchedule{Key: "a/b", Schedule: "@daily"}, `invalid key "a/b"`},
		{"a key that begins with a dot", jobs.KeyedSchedule{Key: "..", Schedule: "@daily"}, `invalid key ".."`},
		{"a long key", jobs.KeyedSchedule{Key: strings.Repeat("k", 49), Schedule: "@daily"}, "1 to 48"},
		{"no schedule", jobs.KeyedSchedule{Key: "k"}, "the schedule is missing"},
		{"a bad schedule", jobs.KeyedSchedule{Key: "k", Schedule: "0 25 * * *"}, "25"},
		{"an unknown zone", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Timezone: "Europe/Berln"}, `did you mean "Europe/Berlin"`},
		{"data that is no object", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`[1]`)}, "data is not a JSON object"},
		{"a field twice", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"a","pages":1,"format":"pdf","to":"b"}`)}, "data.to is given more than once"},
		{"a field twice, within", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":[{"to":1},{"a":{"b":1,"\u0062":2}}],"pages":1,"format":"pdf"}`)}, "data.to.a.b is given more than once"},
		{"more than one value", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(good + good)}, "[bad_data]"},
		{"a field that the body needs", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"a","page":1,"format":"pdf"}`)}, `data.pages is missing, and the template needs it; did you mean "data.page"?`},
		{"a field that the path needs", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"a","pages":1}`)}, "data.format is missing"},
		{"a list in the path", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"a","pages":1,"format":[]}`)}, "needs a text or a number in data.format"},
		{"an empty segment", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"a","pages":1,"format":""}`)}, "needs a text or a number in data.format"},
		{"too much data", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"` + strings.Repeat("a", 16<<10) + `","pages":1,"format":"pdf"}`)}, "the maximum is 16384"},
		{"a secret by its name", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"a","pages":1,"format":"pdf","apiKey":"x"}`)}, "data.apiKey looks like a secret"},
		{"a secret by its form", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":["sk_live_1"],"pages":1,"format":"pdf"}`)}, "data.to looks like a secret"},
		{"a fraction of a second", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(good), Until: time.Unix(1, 1)}, "use whole seconds"},
		{"a year that RFC 3339 cannot write", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(good), Until: time.Date(9999, 12, 31, 23, 59, 0, 0, time.FixedZone("", -60))}, "after the year 9999"},
		{"half of a surrogate pair", jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"\ud800","pages":1,"format":"pdf"}`)}, "half of a UTF-16 surrogate pair"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			_, err := tmpl.Check(tc.s)
			var problem jobs.Problem
			if !errors.As(err, &problem) || !strings.Contains(problem.Error(), tc.want) {
				t.Errorf("got %v, want a Problem with %q", err, tc.want)
			}
			if strings.Contains(problem.Message, "sk_live") {
				t.Error("the message shows the secret")
			}
		})
	}
}

// Stored data may be older than the template.
func TestNoCallIsMadeWithoutDataThatItsBodyNeeds(t *testing.T) {
	tmpl := template(t, "{name: acme, jobs: [{id: a, keyed: {max: 1}, targetUrlEnv: A, path: /a, body: {x: '{{data.x}}'}}]}")
	_, err := tmpl.JobOf(jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"y":1}`)}, nil)
	if err == nil || !strings.Contains(err.Error(), "data.x is missing") {
		t.Errorf("got %v", err)
	}
}

func TestDataWithHarmlessNamesIsAccepted(t *testing.T) {
	tmpl := template(t, "name: acme\njobs: [{ id: a, keyed: { max: 1 }, targetUrlEnv: A, path: /a }]")
	s, err := tmpl.Check(jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(` {"key":"a", "author":"b", "tokens":3, "code":"c", "keyboard":"Report2026CustomerAcmeX"} `)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"author":"b","code":"c","key":"a","keyboard":"Report2026CustomerAcmeX","tokens":3}`; string(s.Data) != want {
		t.Errorf("data %s, want %s", s.Data, want)
	}
}

// A placeholder that a value forms with the text around it is never expanded.
func TestDataCannotMakeAPlaceholder(t *testing.T) {
	tmpl := template(t, `{name: acme, jobs: [{id: a, keyed: {max: 1}, targetUrlEnv: A, path: /a, body: {x: "-{{data.x}}{runId}}"}}]}`)
	j, err := tmpl.JobOf(jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"x":"{"}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(0, 0)
	if got, want := string(j.RequestBody(jobs.RunID(j.ID, at), at)), `{"x":"-{{runId}}"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheFileIsRefusedIfATemplateCouldNotWork(t *testing.T) {
	for _, tc := range []struct{ job, want string }{
		{"{ id: a, keyed: { max: 1 }, schedule: '@daily', targetUrlEnv: A, path: /a }", "remove schedule or keyed"},
		{"{ id: a, keyed: { max: 1 }, spread: 500ms, targetUrlEnv: A, path: /a }", "whole seconds"},
		{"{ id: a, keyed: {}, targetUrlEnv: A, path: /a }", "max is missing"},
		{"{ id: a, keyed: { max: 10000001 }, targetUrlEnv: A, path: /a }", "valid values are 1 to 10000000"},
		{"{ id: a-name-of-33-characters-that-ends.., keyed: { max: 1 }, targetUrlEnv: A, path: /a }", "that of a template has at most 32"},
		{"{ id: a, keyed: { max: 1, schema: [] }, targetUrlEnv: A, path: /a }", "[bad_schema]"},
		{"{ id: a, keyed: { max: 1, retention: 23h }, targetUrlEnv: A, path: /a }", "retention 23h0m0s is shorter than catchUpWindow 24h0m0s"},
		{"{ id: a, keyed: { max: 1, retention: -1h }, targetUrlEnv: A, path: /a }", "negative"},
		{"{ id: a, keyed: { max: 1 }, timezone: Mars, targetUrlEnv: A, path: /a }", `invalid timezone "Mars"`},
		{"{ id: a, keyed: { max: 1 }, heartbeat: { urlEnv: B }, targetUrlEnv: A, path: /a }", "remove heartbeat"},
		{"{ id: a, keyed: { max: 1 }, maxInFlight: 2, targetUrlEnv: A, path: /a }", "set maxInFlight of the target"},
		{"{ id: a, keyed: { max: 1 }, targetUrlEnv: A, path: '/a/{{runId}}' }", `unknown placeholder "runId"; valid names: key, data, data.FIELD`},
		{"{ id: a, keyed: { max: 1 }, targetUrlEnv: A, path: '/a/{{date.x}}' }", "{{ must be followed by a name"},
		{"{ id: a, keyed: { max: 1 }, targetUrlEnv: A, path: '//{{key}}' }", "must have no //"},
		{"{ id: a, keyed: { max: 1 }, targetUrlEnv: A, path: /a, headers: { X-A: '{{data.x}}' } }", `unknown placeholder "data.x"`},
		{"{ id: a, schedule: '@daily', targetUrlEnv: A, path: /a, body: { x: '{{key}}' } }", `unknown placeholder "key"`},
		{"{ id: a, targetUrlEnv: A, path: /a }", "the job has no schedule"},
	} {
		_, err := jobs.Parse("jobs.yaml", []byte("name: acme\njobs: ["+tc.job+"]"))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s:\n got %v\nwant %q", tc.job, err, tc.want)
		}
	}
}

func TestATemplatesDefinitionSurvivesTheLedger(t *testing.T) {
	tmpl := template(t, templateFile)
	body, hash, err := tmpl.Definition()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := jobs.ParseTemplate(body)
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := stored.Definition(); err != nil || again != hash {
		t.Errorf("hash %s, %v; want %s", again, err, hash)
	}
	s := jobs.KeyedSchedule{Key: "k", Schedule: "@daily", Data: []byte(`{"to":"a","pages":1,"format":"pdf"}`)}
	j, err := stored.JobOf(s, nil)
	if err != nil || j.Path != "/v1/reports/k?format=pdf" {
		t.Errorf("path %q, %v", j.Path, err)
	}
	if _, err := jobs.ParseDefinition(body); err == nil {
		t.Error("ParseDefinition takes a template for a job")
	}
	more := strings.Replace(templateFile, "max: 100000", "max: 5", 1)
	if _, again, _ := template(t, more).Definition(); again != hash {
		t.Error("the quota is part of the definition, so raising it would begin a revision of every schedule")
	}
}

func TestRunIDsOfSchedulesAreReadAsTheyAreWritten(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	longest := jobs.ScheduleID(strings.Repeat("t", jobs.MaxTemplateID), strings.Repeat("K", jobs.MaxKey))
	for _, id := range []string{"a:B.c_d-9", longest} {
		owner, got, _, err := jobs.ParseRunID(jobs.RunID(id, at))
		if err != nil || owner != id || !got.Equal(at) {
			t.Errorf("%s: %q %s %v", id, owner, got, err)
		}
	}
	if n := len(jobs.RunIDWithToken(longest, at, "0192f0c1-2d3e-7f40-8a1b-2c3d4e5f6071")); n > jobs.MaxRunIDLength {
		t.Errorf("a run ID with a token has %d bytes", n)
	}
	for _, bad := range []string{"a:@", "a:b:c@", ":b@", "a:-b@", "A:b@", strings.Repeat("t", 33) + ":b@", "a:" + strings.Repeat("k", 49) + "@"} {
		if _, _, _, err := jobs.ParseRunID(bad + "2026-11-26T12:00:00Z"); err == nil {
			t.Errorf("%s is taken for a job ID", bad)
		}
	}
}
