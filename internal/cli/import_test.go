package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const crontabWithSecret = "CRON_TZ=Europe/London\n0 3 * * * curl -fH 'Authorization: Bearer PLANTED' --json '{}' https://api.example.com/v1/close-day\n@reboot curl https://api.example.com/\n"

// What import prints is a registry that check accepts, and nothing that it prints has
// the secret.
func TestAnImportedRegistryPassesCheck(t *testing.T) {
	d := newDesk(t, exportable)
	out := d.path("imported.yaml")
	code, stdout, errs := d.run("import", "crontab", d.write("crontab", crontabWithSecret), "--to", out, "--name", "acme")
	if code != 0 || stdout != "" || !strings.Contains(errs, "imported: 1; not imported: 1") || !strings.Contains(errs, "crontab:3") {
		t.Fatalf("exit %d: %s%s", code, stdout, errs)
	}
	text, err := os.ReadFile(out)
	if err != nil || strings.Contains(string(text)+errs, "PLANTED") {
		t.Fatalf("%v, or a secret is in the registry or the table:\n%s%s", err, text, errs)
	}
	if code, stdout, errs := d.run("check", "--no-env", "--config", out); code != 0 || !strings.Contains(stdout, "at 03:00, Europe/London") {
		t.Errorf("check: exit %d: %s%s", code, stdout, errs)
	}
	if code, _, errs := d.run("import", "crontab", d.path("crontab"), "--to", out); code != exitUsage || !strings.Contains(errs, "is not overwritten") {
		t.Errorf("a second import: exit %d: %s", code, errs)
	}
}

// Whatever the exports hold, check accepts what import made of them.
func TestWhatIsImportedOfExportsPassesCheck(t *testing.T) {
	d := newDesk(t, exportable)
	files, err := filepath.Glob("../importer/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		source := name
		for _, suffix := range []string{"-list", "-group", "-hostile"} {
			source = strings.TrimSuffix(source, suffix)
		}
		out := d.path(name + ".yaml")
		if code, _, errs := d.run("import", source, file, "--to", out); code != 0 {
			t.Errorf("%s: exit %d: %s", name, code, errs)
		} else if code, _, errs := d.run("check", "--no-env", "--config", out); code != 0 {
			t.Errorf("check %s: exit %d: %s", name, code, errs)
		}
	}
}

// What is said of several jobs is one line of the table, with their number; entries that
// are not imported have a line each.
func TestTheTableSaysOnceWhatConcernsManyJobs(t *testing.T) {
	d := newDesk(t, exportable)
	lines := ""
	for n := range 30 {
		lines += fmt.Sprintf("{\"Name\":\"report-%d\",\"ScheduleExpression\":\"rate(1 hour)\",\"Target\":{\"Arn\":\"arn:aws:lambda:eu-west-1:1:function:report\","+
			"\"Input\":\"{\\\"tenant\\\":%d}\"}}\n{\"Name\":\"listed\"}\n", n, n)
	}
	code, _, errs := d.run("import", "eventbridge", d.write("group.json", lines), "--to", d.path("out.yaml"))
	if strings.Count(errs, "period counts from 1970") != 1 || strings.Count(errs, "30 jobs ") < 4 || strings.Count(errs, "no ScheduleExpression") != 30 ||
		!strings.Contains(errs, "30 jobs make the call of this one") || code != 0 {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestImportPrintsJSONAndReadsStandardInput(t *testing.T) {
	d := newDesk(t, exportable)
	code, stdout, errs := d.run("import", "crontab", "--json", d.write("crontab", crontabWithSecret))
	var result struct {
		Registry    string
		Jobs        int
		Refused     int
		Differences []struct{ File, Aspect string }
	}
	if err := json.Unmarshal([]byte(stdout), &result); code != 0 || errs != "" || err != nil || result.Jobs != 1 || result.Refused != 1 || len(result.Differences) == 0 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, errs)
	}
	if code, _, errs := d.run("import", "vercel", "-"); code != exitFailed && code != exitUsage || errs == "" {
		t.Errorf("empty standard input: exit %d: %s", code, errs)
	}
}

func TestImportRefusesWhatItCannotUse(t *testing.T) {
	d := newDesk(t, exportable)
	file := d.write("crontab", crontabWithSecret)
	only := d.write("reboot", "@reboot curl https://api.example.com/\n")
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"crontab", file, "--timezone", "Europe/Lodnon"}, exitUsage, `did you mean "Europe/London"?`},
		{[]string{"crontab", d.dir}, exitUsage, "directory"},
		{[]string{"crontab", d.write("empty", "")}, exitFailed, "no entry could be imported: no file has an entry of crontab"},
		{[]string{"crontab", file, "--name", "a b"}, exitUsage, "name"},
		{[]string{"crontab", d.path("missing")}, exitUsage, "no such file"},
		{[]string{"crontab", only}, exitFailed, "no entry could be imported"},
		{[]string{"kubernetes", file}, exitUsage, "not YAML"},
		{[]string{"eventbridge", file}, exitUsage, "not JSON"},
		{[]string{"cron"}, exitUsage, "unknown command"},
	} {
		code, out, errs := d.run(append([]string{"import"}, test.args...)...)
		if code != test.code || out != "" || !strings.Contains(errs, test.says) {
			t.Errorf("%v: exit %d: %s%s; want exit %d and %q", test.args, code, out, errs, test.code, test.says)
		}
	}
}
