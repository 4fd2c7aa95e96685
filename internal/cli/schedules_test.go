package cli_test

import (
	"os"
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
		{"next", "customer-report:acme", "--from", "2026-12-04T00:00:00Z", "-n", "2"}, {"next", "customer-report:nobody"}, {"next", "customer-report"},
		put("ends", "--schedule", "@daily", "--data", `{"format":"pdf"}`, "--until", "2099-01-02T12:00:00Z"),
		{"next", "customer-report:ends", "--from", "2099-01-01T00:00:00Z", "--json"}, {"schedules", "delete", "customer-report", "ends"},
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

func TestAnImportSaysWhichLineIsTooLong(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	d.write("lines.ndjson", `{"key":"a","schedule":"@hourly","data":{"format":"csv"}}`+"\n\n"+strings.Repeat(" ", 70_000)+"\n")
	code, _, errs := d.run("schedules", "import", "customer-report", d.dir+"/lines.ndjson")
	if want := "line 3 has more than 65536 bytes, the maximum, and ended the import; 1 created"; code != 1 || !strings.Contains(errs, want) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// An edit of a template that stored schedules do not fit is found before it is served.
func TestAnEditThatWouldBreakSchedulesIsFound(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	d.ok("schedules", "put", "customer-report", "acme", "--schedule", "@daily", "--data", `{"format":"pdf"}`)
	d.ok("check", "--no-env", "--ledger")
	d.declare()
	if code, out, errs := d.run("diff"); code != exitDone {
		t.Fatalf("diff without an edit: exit %d: %s%s", code, out, errs)
	}
	for edit, want := range map[[2]string]string{
		{`"{{data.format}}"`, `"{{data.kind}}"`}:        "the schedule customer-report:acme would break: data.kind is missing",
		{"enum: [pdf, csv]", "enum: [csv]"}:             "the schedule customer-report:acme would break: data does not match",
		{"id: customer-report", "id: customer-report2"}: `the ledger has 1 schedule of the template "customer-report", which the registry lacks`,
	} {
		d.write("edited.yaml", strings.Replace(keyedRegistry, edit[0], edit[1], 1))
		code, out, errs := d.run("check", "--no-env", "--ledger", "--config", d.dir+"/edited.yaml")
		if !strings.Contains(out+errs, want) {
			t.Errorf("%v: exit %d: %s%s, want %q", edit, code, out, errs, want)
		}
		if code, out, errs := d.run("diff", "--config", d.dir+"/edited.yaml"); code != exitChanges || !strings.Contains(out, want) {
			t.Errorf("diff of %v: exit %d: %s%s, want %q", edit, code, out, errs, want)
		}
	}
}

// A schedule that no process can plan is not shown as active, and each place that shows it says why.
func TestAScheduleThatDoesNotFitItsTemplateSaysSo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	d.ok("schedules", "put", "customer-report", "acme", "--schedule", "@daily", "--timezone", "UTC", "--data", `{"format":"pdf"}`)
	d.write("cronce.yaml", strings.Replace(keyedRegistry, `"{{data.format}}"`, `"{{data.kind}}"`, 1))
	const why = "data.kind is missing, and the template needs it"
	for command, want := range map[string]string{
		"schedules list customer-report":                     "-     unfit",
		"schedules get customer-report acme":                 why,
		"schedules get customer-report acme --json":          `"state": "unfit"`,
		"jobs show customer-report:acme":                     "when it fits its template",
		"why customer-report:acme 2026-11-22T00:00:00Z":      why,
		"why customer-report:acme 2026-11-22T00:00Z -o json": `"verdict": "unfit"`,
	} {
		if got := d.ok(strings.Fields(command)...); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", command, got, want)
		}
	}
	if _, _, errs := d.run("trigger", "customer-report:acme", "--why", "x"); !strings.Contains(errs, why) {
		t.Errorf("a trigger says %q, want %q", errs, why)
	}
	d.ok("schedules", "pause", "customer-report", "acme", "--why", "unpaid")
	if got := d.ok("schedules", "get", "customer-report", "acme"); !strings.Contains(got, "unfit") {
		t.Errorf("once paused it is %s", got)
	}
}

func TestWhySaysThatAScheduleWasDeletedAndWhatATemplateIs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	const deleted = "the schedule customer-report:once was deleted at 2026-11-21T12:00:00.000Z by ann"
	d.ok("schedules", "put", "customer-report", "once", "--schedule", "at(2026-11-21T11:59:00)", "--timezone", "UTC", "--data", `{"format":"pdf"}`)
	d.ok("schedules", "delete", "customer-report", "once")
	for command, want := range map[string]string{
		"why customer-report:once 2026-11-21T11:00Z": "The ledger has no run of this job at 2026-11-21T11:00:00Z: " + deleted + ".",
		"why customer-report 2026-11-21T11:00Z":      `"cronce schedules list customer-report" lists them`,
		"schedules get customer-report once":         deleted,
	} {
		if _, out, errs := d.run(strings.Fields(command)...); !strings.Contains(out+errs, want) {
			t.Errorf("%s: %s%s, want %q", command, out, errs, want)
		}
	}
}

func TestATokenIsBoundToTemplatesThatExist(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	token := func(template string) (int, string, string) {
		return d.run("access", "token", "shop", "--role", "scheduler", "--template", template)
	}
	for _, unknown := range []string{"customer-reports", "close-day"} {
		if code, _, errs := token(unknown); code != exitUsage || !strings.Contains(errs, "the registry's templates: customer-report") {
			t.Errorf("%s: exit %d: %s", unknown, code, errs)
		}
	}
	if code, _, errs := token("customer-report"); code != exitDone || strings.Contains(errs, "not checked") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if err := os.Remove(d.dir + "/cronce.yaml"); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := token("customer-report"); code != exitDone || !strings.Contains(errs, "# not checked") {
		t.Errorf("without a registry: exit %d: %s", code, errs)
	}
}

func TestATemplateThatTheRegistryLacksHasNoMaximum(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	d.ok("schedules", "put", "customer-report", "acme", "--schedule", "@daily", "--data", `{"format":"pdf"}`)
	d.write("cronce.yaml", strings.Replace(keyedRegistry, "id: customer-report", "id: other-report", 1))
	if got := d.ok("schedules", "list"); !strings.Contains(got, "customer-report  1          -    orphaned") {
		t.Errorf("%s", got)
	}
}

func TestAnUntilThatStandsForNoneIsRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	code, _, errs := d.run("schedules", "put", "customer-report", "acme", "--schedule", "@daily", "--until", "0001-01-01T00:00:00Z", "--data", `{"format":"pdf"}`)
	if code != 2 || !strings.Contains(errs, "invalid --until") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A schedule whose template became a job with a schedule of its own can be deleted.
func TestAScheduleOfWhatIsNoTemplateNowCanBeDeleted(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	put := []string{"schedules", "put", "customer-report", "acme", "--schedule", "@daily", "--data", `{"format":"pdf"}`}
	d.ok(put...)
	d.write("cronce.yaml", "version: 1\nname: acme\njobs:\n  - { id: customer-report, schedule: '@daily', targetUrlEnv: REPORTS_URL, path: /v1/reports }\n")
	if code, _, errs := d.run(put...); code == exitDone || !strings.Contains(errs, "can be read, paused, resumed and deleted") {
		t.Errorf("put: exit %d: %s", code, errs)
	}
	d.ok("schedules", "delete", "customer-report", "acme")
	if code, _, errs := d.run("schedules", "list", "customer-report"); code != exitDone {
		t.Errorf("list: exit %d: %s", code, errs)
	}
}

// A time that has come and cannot be called any more has a row all the same.
func TestADeletionMissesWhatAScheduleWithoutItsTemplateWasDueToDo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	d.ok("schedules", "put", "customer-report", "acme", "--schedule", "at(2026-11-21T11:59:00)", "--timezone", "UTC", "--data", `{"format":"pdf"}`)
	d.write("cronce.yaml", strings.Replace(keyedRegistry, "id: customer-report", "id: other-report", 1))
	d.ok("schedules", "delete", "customer-report", "acme")
	if got := d.ok("runs", "show", "customer-report:acme@2026-11-21T11:59:00Z"); !strings.Contains(got, "not_plannable") {
		t.Errorf("%s", got)
	}
}

func TestDiffComparesTemplates(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	d.write("edited.yaml", strings.Replace(keyedRegistry, "/v1/reports/{{key}}", "/v2/reports/{{key}}", 1))
	_, out, errs := d.run("diff", "--config", d.dir+"/edited.yaml", "--against", d.dir+"/cronce.yaml")
	if !strings.Contains(out, "customer-report: changed") || !strings.Contains(out, "/v2/reports/{{key}}") || !strings.Contains(out, "1 changed, 0 added, 0 removed") {
		t.Errorf("%s%s", out, errs)
	}
}

// What a list prints with -o id is for other commands: nothing would mean that there is none.
func TestSchedulesAndPausesHaveIDs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keyedRegistry)
	const acme = "customer-report:acme\n"
	for _, c := range [][2]string{
		{`schedules put customer-report acme --schedule @daily --data {"format":"pdf"}`, acme}, {"schedules list", "customer-report\n"},
		{"schedules list customer-report", acme}, {"schedules get customer-report acme", acme},
		{"pauses add --all --until 1h --why x --dry-run", ""}, {"pauses add --all --until 1h --why x", "1\n"}, {"pauses list", "1\n"},
	} {
		if got := d.ok(append(strings.Fields(c[0]), "-o", "id")...); got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
	for _, when := range []string{"at(2026-11-21T11:59:00)", "@daily"} { // a change plans what was due
		d.ok("schedules", "put", "customer-report", "once", "--schedule", when, "--timezone", "UTC", "--data", `{"format":"pdf"}`)
	}
	if got := d.ok("schedules", "history", "customer-report", "once", "-o", "id"); got != "customer-report:once@2026-11-21T11:59:00Z\n" {
		t.Errorf("the history has %q, want the run", got)
	}
	if _, _, errs := d.run("schedules", "import", "customer-report", "-o", "id"); !strings.Contains(errs, "prints nothing that has an ID") {
		t.Errorf("an import prints counts: %s", errs)
	}
}
