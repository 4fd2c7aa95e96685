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

// The jobs that a script certainly schedules are enabled. Those under a condition are disabled, and those
// that only a function schedules are not imported; a row says so for each.
func TestCallsOfPgCronThatMayNotRunAreTold(t *testing.T) {
	const (
		call     = "cron.schedule('purge-all', '0 3 * * *', $c$select net.http_delete('https://api.example.com/v1/all')$c$)"
		enabled  = ""
		disabled = "purge-all | effects | the source schedules it only under a condition"
		uncalled = " |  | not imported | purge-all: cron.schedule is in the body of a function"
	)
	for script, want := range map[string]string{
		"select CALL":             enabled,
		"begin; select CALL; end": enabled,
		"do $$ begin drop table if exists x; perform CALL; end $$":                                                                                  enabled,
		"do $$ declare n int; begin if n > 1 then raise exception 'no'; else n := 2; end if; perform CALL; exception when others then null; end $$": enabled,
		"do $$ begin for r in select 1 loop case r when 1 then null; else n := case when a then b end; end case; end loop; perform CALL; end $$":    enabled,
		"create function f() returns int as $f$ select 1 $f$ language sql; select CALL":                                                             enabled,
		"create function f() returns int begin atomic select 1; end; select CALL":                                                                   enabled,
		"drop function f; grant execute on function g to x; select CALL":                                                                            enabled,
		"\\endif\n\\if :prod\ncreate extension pg_cron;\n\\endif\n\\echo now \\\\ select CALL \\g\nselect 1 where a":                                enabled,
		"begin; select 1; rollback; select CALL; rollback":                                                                                          enabled,
		"begin; select 1; commit; start transaction; select CALL; commit; rollback":                                                                 enabled,

		"select CALL where not exists (select 1 from cron.job)":                                  disabled,
		"select case when current_setting('app.env') = 'production' then CALL end":               disabled,
		"do $$ begin if env = 'production' then perform CALL; end if; end $$":                    disabled,
		"do $$ begin if a then null; elsif env = 'production' then perform CALL; end if; end $$": disabled,
		"do $$ begin if a then begin perform CALL; end; end if; end $$":                          disabled,
		"do $$ begin for r in select 1 loop perform CALL; end loop; end $$":                      disabled,
		"do $$ begin perform 1; exception when others then perform CALL; end $$":                 disabled,
		"do $$ begin if env <> 'production' then return; end if; perform CALL; end $$":           disabled,
		"do $$ begin if a then execute $x$ select CALL $x$; end if; end $$":                      disabled,
		"do $$ begin return; perform CALL; end $$":                                               disabled,
		"\\set prod 1\n\\if :prod\nbegin; select CALL; commit;\n\\endif":                         disabled,
		"\\if :prod\n\\else\n\\q\n\\endif\nselect CALL":                                          disabled,

		"create function f() returns void as $f$ begin perform CALL; end $f$ language plpgsql":                    uncalled,
		"create or replace procedure f() language sql as $f$ select CALL $f$; select 1":                           uncalled,
		"create function f() returns void begin atomic select 1; select case when a then b end; select CALL; end": uncalled,
		"do $$ begin create function f() returns void as $f$ select CALL; select 1 $f$ language sql; end $$":      uncalled,
	} {
		got, err := importText(t, importer.PgCron, strings.ReplaceAll(script, "CALL", call))
		if (err != nil) != (want == uncalled) || !strings.Contains(got, want) ||
			strings.Contains(got, "enabled: false") != (want == disabled) || want == enabled && strings.Contains(got, "condition") {
			t.Errorf("%s: %v, want %q\n%s", script, err, want, got)
		}
	}
	quoted := strings.ReplaceAll(call, "'", "''")
	for script, want := range map[string]string{
		"do 'begin perform CALL; end'":                                   "- id: purge-all",
		"\\set x\ndo language plpgsql 'begin perform CALL; end'":         "- id: purge-all",
		"do U&'begin perform CALL; end'":                                 "- id: purge-all",
		"do $$ begin execute 'select CALL'; end $$":                      "- id: purge-all",
		"do $$ begin execute 'select CALL' || x; end $$":                 "- id: purge-all",
		"do $$ begin execute 'select cron.schedule(' || x; end $$":       "is not closed",
		"do $$ begin x := 'select CALL'; execute x; end $$":              "not imported | a text calls cron.schedule",
		"select 'select CALL' \\gexec":                                   "not imported | a text calls cron.schedule",
		"create function f() returns void as 'select CALL' language sql": uncalled,
		"comment on table t is 'select CALL'":                            "refused 0",
	} {
		if got, _ := importText(t, importer.PgCron, strings.ReplaceAll(script, "CALL", quoted)); !strings.Contains(got, want) {
			t.Errorf("%s: want %q\n%s", script, want, got)
		}
	}
	for _, script := range []string{"begin; select CALL; rollback", "select CALL; start transaction; select CALL; rollback to x",
		"begin; create function f() returns int begin atomic select 1; end; select CALL; rollback"} {
		got, _ := importText(t, importer.PgCron, strings.ReplaceAll(script, "CALL", call))
		if want := "not imported | purge-all: a ROLLBACK follows"; !strings.Contains(got, want) || strings.Contains(got, "- id:") {
			t.Errorf("%s: want %q\n%s", script, want, got)
		}
	}
	body := "select " + call + "; create function f() returns void as $f$ select cron.unschedule('purge-all') $f$ language sql;"
	if got, err := importText(t, importer.PgCron, body); err != nil || !strings.Contains(got, "cron.unschedule is in the body of a function") {
		t.Errorf("%v: the job is removed, or no row says why not:\n%s", err, got)
	}
}

// With cron.match_dom_and_dow, which only the database knows, both day fields must match.
func TestThatPgCronMayWantBothDaysToMatchIsTold(t *testing.T) {
	for schedule, told := range map[string]bool{"0 9 1 * 6-7": true, "0 9 $ * 1": true, "0 9 * * 1": false, "0 9 1 * *": false, "@monthly": false} {
		got, err := importText(t, importer.PgCron, "select cron.schedule('"+schedule+"', $$select net.http_get('https://api.example.com/x')$$)")
		if err != nil || strings.Contains(got, "| times | pg_cron runs on days that match either day field unless cron.match_dom_and_dow is on") != told {
			t.Errorf("%s: %v\n%s", schedule, err, got)
		}
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
