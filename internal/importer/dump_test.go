package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/importer"
)

// Of a rule whose call is to be written by hand, the retries are taken over or told, and
// so is that the Input is not.
func TestADisabledRuleOfLambdaLosesNothingInSilence(t *testing.T) {
	for limit, want := range map[int][]string{
		0: {"retry: { backoff: [] }", "rule | body | the Input is not taken over", "rule | retries | the source does not retry"},
		3: {"rule | body | the Input is not taken over", "rule | retries | AWS retries 3 times"},
	} {
		dump := fmt.Sprintf(`{ "Name": "rule", "ScheduleExpression": "rate(1 hour)", "State": "DISABLED",
  "Targets": [ { "Arn": "arn:aws:lambda:eu-central-1:123456789012:function:f", "Input": "{\"day\": \"<aws.scheduler.scheduled-time>\"}",
    "RetryPolicy": { "MaximumRetryAttempts": %d } } ] }`, limit)
		r, err := importer.Import(importer.EventBridge, []importer.File{{Name: "rule.json", Data: []byte(dump)}}, importer.Options{Name: "acme"})
		got := text(r)
		for _, text := range want {
			if err != nil || !strings.Contains(got, text) {
				t.Errorf("%d retries, %v: no %q in\n%s", limit, err, text, got)
			}
		}
	}
}

func TestEachItemOfAListHasItsLine(t *testing.T) {
	const job = `metadata: { name: NAME }
  spec:
    schedule: "0 3 * * *"
    jobTemplate: { spec: { template: { spec: { containers: [ { image: curlimages/curl, args: [ "https://api.example.com/v1/NAME" ] } ] } } } }
`
	of := func(name string) string { return strings.ReplaceAll(job, "NAME", name) }
	yaml := "# kubectl\napiVersion: v1\nkind: List\nitems:\n- kind: CronJob\n  " + of("one") + "# a comment\n- kind: CronJob\n  " + of("two") + "- kind: Job\n  " + of("three")
	json := `{ "kind": "List", "items": [
  { "kind": "CronJob" },
  {
    "kind": "Job" } ] }`
	for file, want := range map[string][]string{
		yaml: {"# cron.yaml:5\n  - id: one", "# cron.yaml:11\n  - id: two", "cron.yaml:16 |  | not imported | three"},
		json: {"cron.yaml:2 |", "cron.yaml:3 |"},
	} {
		r, _ := importer.Import(importer.Kubernetes, []importer.File{{Name: "cron.yaml", Data: []byte(file)}}, importer.Options{Name: "acme"})
		got := text(r)
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("no %q in\n%s", text, got)
			}
		}
	}
}

// EventBridge has schedules of one name in several groups.
func TestSchedulesOfOneNameAreToldApartByTheirGroups(t *testing.T) {
	dump := ""
	for _, group := range []string{"default", "billing", "reports"} {
		dump += `{"Name": "nightly", "GroupName": "` + group + `", "ScheduleExpression": "rate(1 day)", "Target": {"Arn": "arn:aws:lambda:eu-west-1:1:function:f"}}` + "\n"
	}
	r, err := importer.Import(importer.EventBridge, []importer.File{{Name: "all.json", Data: []byte(dump)}}, importer.Options{Name: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"id: nightly\n", "id: billing-nightly\n", "id: reports-nightly\n"} {
		if !strings.Contains(r.Registry, id) {
			t.Errorf("%s is not in\n%s", id, r.Registry)
		}
	}
}

// What would be read in part, or not at all, is an error that names its place.
func TestADumpThatCannotBeReadAsAWholeIsRefused(t *testing.T) {
	jobs := ""
	for range 110 {
		jobs += `{"Name":"report","ScheduleExpression":"rate(1 hour)","Target":{"Arn":"arn:aws:lambda:eu-west-1:1:function:f","Input":"{\"text\":\"` +
			strings.Repeat("x ", 5000) + `\"}"}}` + "\n"
	}
	for dump, want := range map[string]string{
		"\n{ \"Rules\": [ {\"Name\": \"a\", \"ScheduleExpression\": \"rate(1 hour)\"} ], \"NextToken\": \"x\" }": "file:2: only a part of the list (NextToken)",
		`{ "Name": 7 }`:                  "file:1: the field Name is of an unexpected type",
		`{ "Name": "a", "Target": "b" }`: "file:1: the field Target is of an unexpected type",
		jobs:                             "110 jobs make a registry of",
		strings.Repeat(" ", importer.MaxFileSize+1): "split it",
	} {
		r, err := importer.Import(importer.EventBridge, []importer.File{{Name: "file", Data: []byte(dump)}}, importer.Options{Name: "acme"})
		if err == nil || !strings.Contains(err.Error(), want) || r.Registry != "" {
			t.Errorf("%.40s: %v; want %q", dump, err, want)
		}
	}
}

// AWS fires a rule with a schedule and a pattern for both.
func TestThePatternOfARuleWithAScheduleIsTold(t *testing.T) {
	got, err := importText(t, importer.EventBridge, `{"Rules": [{"Name": "both", "ScheduleExpression": "rate(1 hour)", "EventPattern": "{}"}]}`)
	if want := "both | not imported | the rule also waits for events"; err != nil || !strings.Contains(got, want) {
		t.Errorf("%v: no %q in\n%s", err, want, got)
	}
}
