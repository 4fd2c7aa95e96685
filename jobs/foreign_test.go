package jobs_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
)

// People bring the words of other schedulers, and schedules without quotes.
func TestForeignWordsAreExplained(t *testing.T) {
	for job, want := range map[string]string{
		`{ id: a, cron: "0 3 * * *" }`:                                    `unknown field "cron" in jobs[0]; did you mean "schedule"?`,
		`{ id: a, schedule: "@daily", url: X }`:                           `unknown field "url" in jobs[0]; did you mean "targetUrlEnv"?`,
		`{ id: a, schedule: "@daily", concurrencyPolicy: Forbid }`:        `did you mean "overlap"?`,
		`{ id: a, schedule: "@daily", suspend: true }`:                    `did you mean "enabled"?`,
		`{ id: a, schedule: "@daily", overlap: Forbid }`:                  `unknown overlap "Forbid"; valid values: skip, queue, allow; did you mean "skip"?`,
		`{ id: a, schedule: "@daily", catchUp: last }`:                    `did you mean "latest"?`,
		`{ id: a, schedule: "@daily", timezone: Europe/Berln }`:           `did you mean "Europe/Berlin"?`,
		`{ id: a, schedule: * * * * * }`:                                  `f:4:24: the schedule needs quotes, because * and @ have a meaning of their own in YAML; write schedule: "* * * * *"`,
		`{ id: a, schedule: @daily, path: /x }`:                           `write schedule: "@daily"`,
		"\n    id: a\n    schedule: * * * * *\n    path: /x":              `f:6:15: the schedule needs quotes`,
		"\n    id: a\n    schedule: */5,7 * * * * # often\n    path: /x":  `write schedule: "*/5,7 * * * *"`,
		"\n    id: a\n    schedule: */15 * * * * # often\n    path: /x":   `write schedule: "*/15 * * * *"`,
		`{ id: a, schedule: "@daily", body: { n: {{runId}} } }`:           `f:4:45: a value with a placeholder needs quotes, because { begins a map in YAML; write e.g. "{{runId}}"`,
		`{ id: a, schedule: "@daily", body: [ {{ runId }} ] }`:            `write e.g. "{{ runId }}"`,
		"\n    id: a\n    headers:\n      X-A: {{previousAt}}/{{nextAt}}": `f:7:12: a value with a placeholder needs quotes`,
		"\n    id: a\n    schedule: @every 5m\n    path: /x":              `write schedule: "@every 5m"`,
	} {
		_, err := jobs.Parse("f", []byte("name: acme\ntargets: { x: { urlEnv: X } }\njobs:\n  - "+job+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", job, err, want)
		}
	}
}

func TestAForeignFieldOfATargetIsExplained(t *testing.T) {
	_, err := jobs.Parse("f", []byte("name: acme\ntargets: { x: { url: https://x.example.com } }\njobs: []\n"))
	if err == nil || !strings.Contains(err.Error(), `unknown field "url" in targets.x; did you mean "urlEnv"?`) {
		t.Error(err)
	}
}
