package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const everythingWrong = `version: 1
name: acme platform
targets:
  one: { urlEnv: ONE_URL, auth: { type: bearer, token: { env: ONE_TOKEN } } }
  two: { urlEnv: TWO_URL }
jobs:
  - { id: same, schedule: "@daily", target: one, path: /a }
  - { id: same, schedule: "@daily", target: one, path: /b }
  - { id: Bad Id, schedule: "@daily", target: one, path: /c }
  - { id: never, schedule: "0 0 30 2 *", target: one, path: /d }
  - { id: typo, schedule: "61 * * * *", target: one, path: /e, timeot: 5s }
  - { id: times, schedule: "@daily", target: one, path: /f, timeout: -5s, retry: { backoff: [1x] } }
  - { id: nowhere, schedule: "@daily", target: three, path: f }
  - { id: zone, schedule: "@daily", timezone: Mars/Olympus, target: two, path: /g }
  - { id: short, schedule: "@daily", targetUrlEnv: SHORT_URL, path: /h, body: 2026-01-01, overlap: sometimes }
`

func TestLedgersThatCannotExist(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	for _, db := range []string{"postgres://s3cret@...", "postgres://s3cret@db:0/x", "postgres://s3cret@db:99999/x", "postgresql://s3cret@256.1.1.1",
		"postgres://s3cret@db,.../x", "postgres://s3cret@db:1,db:0/x", "postgres:///x?host=s3cret..", "postgres://s3cret@db/x?pool_max_conns=s3cret", "postgres://s3cret@db/x?sslmode=s3cret"} {
		for _, args := range [][]string{{"serve", "--listen", ""}, {"runs", "list"}, {"migrate", "up"}} {
			if code, _, errs := d.run(append(args, "--db", db)...); code != exitUsage || strings.Contains(errs, "s3cret") {
				t.Errorf("%s %s: exit %d: %s", args, db, code, errs)
			}
		}
	}
}

// Addresses that nothing can be called or opened by are refused by check and at
// start, and no ledger is made.
func TestAddressesThatCannotExist(t *testing.T) {
	t.Parallel()
	for variable, values := range map[string][]string{
		"MEMBERSHIP_URL": {
			"https://membership.example:0", "https://membership.example:99999", "https://...", "http://../..", "https://a..b", "https://-", "https:///x",
			"https://" + strings.Repeat("a", 64), "https://membership.example ", "https://membership.example\n", "https://me:s3cret@membership.example",
			"https://256.1.1.1", "https://127.1", "https://[fe80::1%25e%20th0]", "https://membership.example:443x", "https://membership.example/..",
			"https://membership.example/../..", "https://membership.example/%2e%2e/s3cret", "https://membership.example//s3cret",
		},
		"KEYS_URL": {"redis://s3cret@keys", "garbage-s3cret", "postgres://s3cret@...", "mysql://s3cret@keys:0/x"},
	} {
		for _, value := range values {
			d := newDesk(t, membershipRegistry+"keyStores: [ { name: keys, urlEnv: KEYS_URL } ]\n")
			d.env["KEYS_URL"] = "postgres://keys/keys"
			if code, _, errs := d.run("check"); code != exitDone {
				t.Fatalf("check: exit %d: %s", code, errs)
			}
			d.env[variable] = value
			for _, args := range [][]string{{"check"}, {"serve", "--listen", ""}, {"trigger", "close-books"}} {
				if code, _, errs := d.run(args...); code != exitUsage || !strings.Contains(errs, variable) || strings.Contains(errs, "s3cret") || d.exists("ledger.db") {
					t.Errorf("%s=%s %s: exit %d: %s", variable, value, args, code, errs)
				}
			}
		}
	}
}

// What serve refuses of the variables for proxies and the public URL, check reports
// before the deploy. Neither shows a value.
func TestCheckReportsWhatServeRefusesOfVariables(t *testing.T) {
	t.Parallel()
	const url = "CRONCE_PUBLIC_URL"
	for name, tc := range map[string]struct {
		env  map[string]string
		want string // "": valid
	}{
		"a proxy":      {map[string]string{"https_proxy": "http://me:s3cret@proxy:port"}, "https_proxy is not the URL of a proxy"},
		"no host":      {map[string]string{url: "nonsense"}, "invalid " + url},
		"a password":   {map[string]string{url: "https://me:s3cret@cronce.example.com"}, "invalid " + url},
		"an empty URL": {map[string]string{url: " "}, url + " is empty"},
		"a URL":        {map[string]string{url: "https://cronce.example.com"}, ""},
	} {
		d := newDesk(t, membershipRegistry)
		for variable, value := range tc.env {
			d.env[variable] = value
		}
		code, _, errs := d.run("check")
		if tc.want == "" {
			if code != exitDone {
				t.Errorf("%s: check: exit %d: %s", name, code, errs)
			}
			continue
		}
		if code, _, errs := d.run("check", "--no-env"); code != exitDone {
			t.Errorf("%s: check --no-env: exit %d: %s", name, code, errs)
		}
		serveCode, _, serveErrs := d.run("serve", "--listen", "")
		if code != exitUsage || serveCode != exitUsage || !strings.Contains(errs, tc.want) || !strings.Contains(serveErrs, tc.want) || strings.Contains(errs+serveErrs, "s3cret") {
			t.Errorf("%s: check: exit %d: %s; serve: exit %d: %s; want %q", name, code, errs, serveCode, serveErrs, tc.want)
		}
	}
}

// Everything that is wrong with file and environment is listed at once, in the
// order of the file, and nothing is started or made.
func TestGoldenBadInput(t *testing.T) {
	t.Parallel()
	d := newDesk(t, everythingWrong)
	d.env["TWO_URL"] = "not a url, but s3cret"
	d.env["ONE_URL"] = "http://user:s3cret@one.example"
	d.write("retention.yaml", `version: 1
name: acme
jobs:
  - { id: long, schedule: "@daily", targetUrlEnv: MEMBERSHIP_URL, path: /x, retry: { horizon: 24h } }
`)
	d.write("empty.yaml", "# nothing\n")
	d.write("list.yaml", "- a\n- b\n")
	d.write("tab.yaml", "version: 1\nname: acme\njobs:\n\t- id: a\n")
	d.write("two.yaml", "version: 1\nname: acme\n---\nname: other\n")
	d.write("big.yaml", "# "+strings.Repeat("x", 10<<20)+"\n")
	d.write("utf16.yaml", "\xff\xfev\x00e\x00")
	var text strings.Builder
	for _, args := range [][]string{
		{"check"}, {"check", "--no-env"}, {"serve"}, {"trigger", "same"}, {"diff", "--against", "cronce.yaml"},
	} {
		text.WriteString(d.transcript(args...))
	}
	for _, name := range []string{"retention", "empty", "list", "tab", "two", "big", "utf16", "missing"} {
		for _, command := range []string{"check", "serve"} {
			text.WriteString(d.transcript(command, "--config", d.path(name+".yaml")))
		}
	}
	got := text.String()
	if strings.Contains(got, "s3cret") || strings.Count(got, "exit 2") != strings.Count(got, "--- exit") {
		t.Errorf("a secret, or another exit code than 2:\n%s", got)
	}
	if _, err := os.Stat(d.path("ledger.db")); err == nil {
		t.Error("a ledger was made")
	}
	// The words are those of package jobs, and tested there.
	golden(t, "bad-input", regexp.MustCompile(`(?m): .* \[(\w+)\]$`).ReplaceAllString(got, " $1"))
}

// An edge: the smallest registry, and one whose only job is over.
func TestCheckOfWhatIsLegal(t *testing.T) {
	t.Parallel()
	for _, registry := range []string{"version: 1\nname: a\n", "version: 1\nname: a\njobs:\n  - { id: past, schedule: \"at(2020-01-01T00:00:00)\", targetUrlEnv: MEMBERSHIP_URL, path: /x }\n"} {
		if code, out, errs := newDesk(t, registry).run("check"); code != 0 || strings.Contains(registry, "past") && (!strings.Contains(out, "never again") || !strings.Contains(errs, "warning: ") || !strings.Contains(errs, "[never_again]")) {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
	}
}
