package importer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/importer"
	"github.com/cronce/cronce/jobs"
)

func imported(t *testing.T, source importer.Source, data string) (jobs.Job, importer.Result) {
	t.Helper()
	result, err := importer.Import(source, []importer.File{{Name: "file", Data: []byte(data)}}, importer.Options{Name: "acme"})
	if err != nil || result.Jobs != 1 {
		t.Fatalf("%d jobs, %v: %v", result.Jobs, err, result.Differences)
	}
	reg, err := jobs.Parse("imported", []byte(result.Registry))
	if err != nil {
		t.Fatalf("%v:\n%s", err, result.Registry)
	}
	for _, j := range reg.All() {
		if j.ID != jobs.PurgeJobID {
			return j, result
		}
	}
	t.Fatal("no job")
	return jobs.Job{}, result
}

// What the source sends literally is not a placeholder of the registry.
func TestBracesOfTheSourceAreSentAsTheyAre(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for _, text := range []string{"{{jobId}}", "{{runId}}", "{{unknown}}", "{{", "{{{", "{{{{jobId}}", "{{{{{", "}}", `{\u007bjobId}}`, "{{ .Values.x }}"} {
		body := `{"` + text + `":["` + text + `",{"a":{"b":{}}}]}`
		j, r := imported(t, importer.Crontab, "0 3 * * * curl -f -H 'Prefer: "+text+"' --json '"+body+"' https://api.example.com/x\n")
		if got := string(j.RequestBody(jobs.RunID(j.ID, at), at)); got != body || !json.Valid([]byte(got)) {
			t.Errorf("sends %s, the source %s", got, body)
		}
		if got := j.RequestHeaders(jobs.RunID(j.ID, at), at)["Prefer"]; got != text {
			t.Errorf("sends the header %q, the source %q: %v", got, text, r.Differences)
		}
	}
}

const described = `kind: CronJob
metadata:
  name: close-day
  labels: %s
  annotations: %s
spec:
  schedule: "30 2 * * *"
  jobTemplate: { spec: { template: { spec: { containers: [ { image: curlimages/curl, args: ["-f", "https://api.example.com/x"] } ] } } } }
`

func TestLabelsAndAnnotationsOfACronJob(t *testing.T) {
	long, secret := strings.Repeat("a", 41)+".example.com/tier-of-it", "ghp_PLANTED0000000000000000000"
	for _, test := range []struct {
		labels, annotations       string
		description, owner, words string
		noted                     []string
	}{
		{`{ app.kubernetes.io/name: billing, tier: "1" }`, `{ kubernetes.io/description: "Closes\nthe \"day\" – {{jobId}}", a8r.io/owner: "team: #1" }`,
			`Closes the "day" – {{jobId}}`, "team: #1", "app.kubernetes.io/name=billing, tier=1", nil},
		{"{}", `{ a8r.io/description: convention }`, "convention", "", "", nil},
		{"{}", `{ a8r.io/description: convention, kubernetes.io/description: own }`, "own", "", "", []string{"annotations not taken over: a8r.io/description"}},
		{"{}", `{ kubectl.kubernetes.io/last-applied-configuration: "{}" }`, "", "", "", nil},
		{"{ " + long + ": x, ok: y, empty: '' }", `{ a: "1", b: "1", c: "1", d: "1", e: "1", f: "1" }`, "", "", "empty=, ok=y",
			[]string{"labels not taken over: " + long, "annotations not taken over: a, b, c, d, e and 1 other"}},
		{"{ token: " + secret + ", " + secret + ": x }", "{ kubernetes.io/description: use " + secret + ", a8r.io/owner: " + secret + ", " + secret + ": y }", "", "", "",
			[]string{"the owner is not taken over", "the description is not taken over", "labels not taken over: (not shown), token", "annotations not taken over: (not shown)"}},
		{"{}", "{ kubernetes.io/description: '" + strings.Repeat("x", 501) + "', a8r.io/owner: '" + strings.Repeat("x", 101) + "' }", "", "", "",
			[]string{"at most 100 printable", "at most 500 printable"}},
		{"{ a: \"\\u202e\" }", "{ kubernetes.io/description: \"\\u202e\" }", "", "", "", []string{"labels not taken over: a", "at most 500 printable"}},
	} {
		j, r := imported(t, importer.Kubernetes, fmt.Sprintf(described, test.labels, test.annotations))
		if j.Description != test.description || j.Owner != test.owner || j.LabelText() != test.words {
			t.Errorf("%s %s: description %q, owner %q, labels %q", test.labels, test.annotations, j.Description, j.Owner, j.LabelText())
		}
		var noted []string
		for _, d := range r.Differences {
			if d.Aspect == importer.Description {
				noted = append(noted, d.Text)
			}
		}
		if len(noted) != len(test.noted) || !all(strings.Join(noted, "\n"), test.noted) {
			t.Errorf("%s %s: notes %q", test.labels, test.annotations, noted)
		}
		if strings.Contains(fmt.Sprint(r), secret) {
			t.Errorf("a secret is in the result: %v", r)
		}
	}
}

func all(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// A job has at most 20 labels; the rest are named.
func TestLabelsBeyondTheBound(t *testing.T) {
	var labels []string
	for n := range 23 {
		labels = append(labels, fmt.Sprintf("l%02d: x", n))
	}
	j, r := imported(t, importer.Kubernetes, fmt.Sprintf(described, "{ "+strings.Join(labels, ", ")+" }", "{}"))
	if len(j.Labels) != 20 || !strings.Contains(fmt.Sprint(r.Differences), "labels not taken over: l20, l21, l22;") {
		t.Errorf("%d labels: %v", len(j.Labels), r.Differences)
	}
}

// cron does not join lines. A command that ends in a backslash is incomplete, so it is
// not imported.
func TestCrontabLinesAreNotContinued(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		data := "0 5 * * * curl -f https://api.example.com/x \\" + end + "  -d 1" + end
		r, err := importer.Import(importer.Crontab, []importer.File{{Name: "file", Data: []byte(data)}}, importer.Options{Name: "acme"})
		if err == nil || r.Jobs != 0 || !strings.Contains(fmt.Sprint(r.Differences), "cron does not continue") {
			t.Errorf("%v: %v", err, r)
		}
	}
}
