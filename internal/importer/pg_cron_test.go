package importer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/importer"
)

func importText(t *testing.T, source importer.Source, file string) (string, error) {
	t.Helper()
	r, err := importer.Import(source, []importer.File{{Name: "file", Data: []byte(file)}}, importer.Options{Name: "acme"})
	return text(r), err
}

// Rows of cron.job become what the calls that made them become.
func TestRowsOfPgCronAreImported(t *testing.T) {
	got, err := importText(t, importer.PgCron, `[
 {"jobid":1,"jobname":"pay","schedule":"0 3 * * *","command":"\n select net.http_post('https://api.example.com/v1/pay', E'{\\n}', headers := '{\"Authorization\":\"Bearer PLANTED\"}');","active":false},
 {"jobid":2,"jobname":null,"schedule":"0 4 * * *","command":"select net.http_get('https://api.example.com/v1/late')","active":true},
 {"jobid":3,"jobname":"two","schedule":"0 4 * * *","command":"select net.http_get('https://api.example.com/a'); delete from PLANTED"}]`)
	for _, want := range []string{"- id: pay\n", "enabled: false", "API_EXAMPLE_COM_TOKEN", "- id: late\n", "file:4 |  | not imported | two: the command is not one select"} {
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, "PLANTED") {
			t.Errorf("%v: no %q, or a secret, in\n%s", err, want, got)
		}
	}
}

// Days that pg_cron wants to match both, a start of the server, and SQL that is not closed
// have no times that a registry could have.
func TestWhatPgCronRunsAtOtherTimesIsRefused(t *testing.T) {
	for schedule, why := range map[string]string{"0 0 */2 * 1": "both day-of-month and day-of-week", "@reboot": "@reboot has no time",
		"0 0 * *": "not one of pg_cron", "99 seconds": "not one of pg_cron"} {
		got, err := importText(t, importer.PgCron, "select cron.schedule('"+schedule+"', $$select net.http_get('https://api.example.com/x')$$)")
		if !errors.Is(err, importer.ErrNothing) || !strings.Contains(got, why) {
			t.Errorf("%s: %v\n%s", schedule, err, got)
		}
	}
	if got, _ := importText(t, importer.PgCron, "select cron.schedule('* * * * *', $$select 1$$"); !strings.Contains(got, "is not closed") {
		t.Error(got)
	}
	deep := "select cron.schedule('* * * * *', $$select net.http_get(" + strings.Repeat("(", 100) + "'https://api.example.com'" + strings.Repeat(")", 100) + ")$$)"
	if got, _ := importText(t, importer.PgCron, deep); !strings.Contains(got, "refused 1") {
		t.Error(got)
	}
}

// Each schedule of a workflow is refused with its line, its times and what to do instead.
func TestSchedulesOfGitHubActionsAreRefusedWithAReason(t *testing.T) {
	got, err := importText(t, importer.GitHubActions, `name: Nightly
on:
  push: { branches: [main] }
  schedule:
    - cron: "0 3 * * *"
      timezone: Europe/Berlin
    - cron: 'PLANTED secret'
jobs: { build: { runs-on: ubuntu-latest, steps: [{ run: "curl https://api.example.com" }] } }
---
on: push
`)
	for _, want := range []string{`file:5 |  | not imported | nightly: schedule "0 3 * * *", timezone "Europe/Berlin" starts steps on a runner`,
		`file:7 |  | not imported | nightly: its schedule, timezone "UTC" starts`, "refused 2", "workflow_dispatch"} {
		if !errors.Is(err, importer.ErrNothing) || !strings.Contains(got, want) || strings.Contains(got, "PLANTED") {
			t.Errorf("%v: no %q, or a secret, in\n%s", err, want, got)
		}
	}
}
