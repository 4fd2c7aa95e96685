package cli_test

import (
	"strings"
	"testing"
)

const keyedRegistry = `version: 1
name: acme
targets: { reports: { urlEnv: MEMBERSHIP_URL } }
jobs:
  - id: customer-report
    keyed: { max: 3, schema: { properties: { format: { enum: [pdf, csv] } } } }
    timezone: Europe/Berlin
    target: reports
    path: /v1/reports/{{key}}
    body: { format: "{{data.format}}" }
  - { id: close-day, schedule: "0 6 * * *", target: reports, path: /v1/close }
`

// What the commands for schedules print, in the order of a schedule's life.
func TestGoldenSchedules(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	d.write("lines.ndjson", `{"key":"b","schedule":"@hourly","data":{"format":"csv"}}
{"key":"c","schedule":"@hourli","data":{"format":"csv"}}
{"key":"c","cron":"@hourly"}

{"key":"b","schedule":"@daily","data":{"format":"csv"}}
{"key":"d","delete":true}
`)
	var text strings.Builder
	put := func(args ...string) []string { return append([]string{"schedules", "put", "customer-report"}, args...) }
	for _, args := range [][]string{
		{"check", "--no-env"}, {"schedules", "list"},
		put("acme", "--schedule", "0 7 * * 1-5", "--data", `{"format":"pdf"}`), put("acme", "--schedule", "0 7 * * 1-5", "--data", `{"format":"pdf"}`),
		put("acme", "--schedule", "0 8 * * 1-5", "--data", `{"format":"pdf"}`, "--if-revision", "7"),
		put("acme", "--schedule", "0 8 * * 1-5", "--data", `{"format":"doc"}`), put("acme", "--schedule", "0 8 * * 1-5"),
		put("acme", "--schedule", "0 8 * * 1-5", "--data", `{"format":"pdf"}`, "--new"), put("acme"), put("acme", "--in", "1h", "--schedule", "@daily"),
		put("acme", "--schedule", "@daily", "--data", "{"), put("acme", "--schedule", "@daily", "--until", "tomorrow"), put("a/b", "--schedule", "@daily"),
		{"schedules", "put", "close-day", "acme", "--schedule", "@daily"}, {"schedules", "put", "customer-reports", "acme", "--schedule", "@daily"},
		{"schedules", "import", "customer-report", d.dir + "/lines.ndjson"}, {"schedules", "list", "customer-report"}, {"schedules", "list", "customer-report", "--prefix", "a"},
		{"schedules", "get", "customer-report", "acme"}, {"schedules", "pause", "customer-report", "acme", "--why", "unpaid"},
		{"schedules", "get", "customer-report", "acme", "--json"}, {"schedules", "history", "customer-report", "acme"},
		{"schedules", "resume", "customer-report", "acme", "--why", "paid"}, {"jobs", "show", "customer-report:acme"},
		{"schedules", "delete", "customer-report", "acme"}, {"schedules", "delete", "customer-report", "acme"}, {"schedules", "get", "customer-report", "acme"},
		{"schedules", "list", "--json"},
	} {
		text.WriteString(strings.ReplaceAll(d.transcript(args...), d.dir, "DIR"))
	}
	golden(t, "schedules", text.String())
}
