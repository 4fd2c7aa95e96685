package jobs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
)

const envFile = `name: acme
targets:
  plain: { urlEnv: PLAIN_URL }
  token: { urlEnv: TOKEN_API_URL, auth: { type: bearer, token: { env: TOKEN } } }
  oauth:
    urlEnv: OAUTH_URL
    allowHTTP: true
    auth: { type: oauth2, tokenUrlEnv: OAUTH_TOKEN_URL, clientId: { env: OAUTH_ID }, clientSecret: { env: OAUTH_SECRET } }
jobs:
  - { id: short, schedule: '@daily', targetUrlEnv: SHORT_URL, path: /a }
  - { id: off, schedule: '@daily', targetUrlEnv: OFF_URL, path: /a, enabled: false }
keyStores: [ { name: db, urlEnv: DB_URL } ]
notifications: [ { name: hub, type: webhook, urlEnv: HUB_URL } ]
heartbeat: { urlEnv: BEAT_URL }
`

func goodEnv() map[string]string {
	return map[string]string{
		"PLAIN_URL": "https://plain.example.com", "TOKEN_API_URL": "https://token.example.com/base", "TOKEN": "hush-token",
		"OAUTH_URL": "http://oauth.internal:8080", "OAUTH_TOKEN_URL": "https://auth.internal/token?tenant=acme", "OAUTH_ID": "id", "OAUTH_SECRET": "hush-secret",
		"SHORT_URL": "http://127.0.0.1:9000", "HUB_URL": "https://hub.example.com/?key=hush", "BEAT_URL": "https://beat.example.com", "DB_URL": "postgres://u:hush-db@db/keys",
	}
}

func checkEnv(t *testing.T, env map[string]string) []string {
	t.Helper()
	r, err := jobs.Parse("cronce.yaml", []byte(envFile))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range r.CheckEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok }) {
		got = append(got, fmt.Sprintf("%d:%d %s %s", p.Line, p.Column, p.Job, p.Code))
		if strings.Contains(p.Message, "hush") {
			t.Errorf("a secret in a message: %s", p.Message)
		}
	}
	return got
}

func TestGoodEnvironmentHasNoProblems(t *testing.T) {
	if got := checkEnv(t, goodEnv()); got != nil {
		t.Errorf("got %q", got)
	}
}

func TestEveryUnsetVariableIsNamed(t *testing.T) {
	want := []string{
		"3:20  unset_variable", "4:20  unset_variable", "4:71  unset_variable",
		"6:13  unset_variable", "8:40  unset_variable", "8:74  unset_variable", "8:107  unset_variable",
		"10:52 short unset_variable", "12:34  unset_variable", "13:54  unset_variable", "14:22  unset_variable",
	}
	if got := checkEnv(t, nil); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestValuesInTheEnvironmentAreChecked(t *testing.T) {
	for _, tc := range []struct{ rule, name, value, want string }{
		{"empty is unset", "PLAIN_URL", "", "3:20  unset_variable"},
		{"a word is no URL", "PLAIN_URL", "hush", "3:20  bad_url"},
		{"a host is no URL", "PLAIN_URL", "plain.example.com:443", "3:20  bad_url"},
		{"a URL has a host", "PLAIN_URL", "https:///hush", "3:20  bad_url"},
		{"only http and https", "PLAIN_URL", "ftp://plain.example.com", "3:20  bad_url"},
		{"no file", "PLAIN_URL", "file:///etc/hush", "3:20  bad_url"},
		{"no socket, with allowHTTP either", "OAUTH_URL", "unix:///var/run/hush.sock", "6:13  bad_url"},
		{"not only a port", "PLAIN_URL", "https://:443", "3:20  bad_url"},
		{"a port is a number", "PLAIN_URL", "https://plain.example.com:hush", "3:20  bad_url"},
		{"no space in front", "PLAIN_URL", " https://plain.example.com/hush", "3:20  bad_url"},
		{"no white space", "PLAIN_URL", "https://plain.example.com\n", "3:20  bad_url"},
		{"broken escapes", "PLAIN_URL", "https://plain.example.com/%hush", "3:20  bad_url"},
		{"no name of a user alone", "PLAIN_URL", "https://hush@plain.example.com", "3:20  bad_url"},
		{"no user", "PLAIN_URL", "https://u:hush@plain.example.com", "3:20  bad_url"},
		{"no query", "PLAIN_URL", "https://plain.example.com/?key=hush", "3:20  bad_url"},
		{"no fragment", "PLAIN_URL", "https://plain.example.com/#hush", "3:20  bad_url"},
		{"no dots in the path", "PLAIN_URL", "https://hush.example.com/../..", "3:20  bad_url"},
		{"no encoded dots in the path", "PLAIN_URL", "https://hush.example.com/%2e%2e/x", "3:20  bad_url"},
		{"no host in the path", "PLAIN_URL", "https://plain.example.com//hush", "3:20  bad_url"},
		{"no dots in the path of a token endpoint", "OAUTH_TOKEN_URL", "https://hush.example.com/../token", "8:40  bad_url"},
		{"no dots in the path of a channel", "HUB_URL", "https://hush.example.com/../x", "13:54  bad_url"},
		{"no dots in the path of a heartbeat", "BEAT_URL", "https://hush.example.com/..", "14:22  bad_url"},
		{"http to another machine", "PLAIN_URL", "http://plain.example.com", "3:20  insecure_url"},
		{"http to a machine that looks like this one", "PLAIN_URL", "http://localhost.example.com", "3:20  insecure_url"},
		{"http to every interface", "PLAIN_URL", "http://0.0.0.0", "3:20  insecure_url"},
		{"http to another machine in the short form", "SHORT_URL", "http://10.0.0.1", "10:52 short insecure_url"},
		{"http to IPv6 loopback is allowed", "PLAIN_URL", "http://[::1]:80", ""},
		{"http to localhost is allowed", "PLAIN_URL", "http://localhost:80", ""},
		{"http to localhost in capitals is allowed", "PLAIN_URL", "http://LOCALHOST:80", ""},
		{"http to IPv4 loopback written as IPv6 is allowed", "PLAIN_URL", "http://[::ffff:127.0.0.1]:80", ""},
		{"a token with a newline", "TOKEN", "hush\n", "4:71  bad_secret"},
		{"a token with a blank", "TOKEN", "Bearer hush", "4:71  bad_secret"},
		{"a secret of other characters", "OAUTH_SECRET", "hüsh-hush", "8:107  bad_secret"},
		{"a token endpoint is a URL", "OAUTH_TOKEN_URL", "hush", "8:40  bad_url"},
		{"the address of a channel has https", "HUB_URL", "http://hub.example.com", "13:54  insecure_url"},
		{"the address of a heartbeat may have a query", "BEAT_URL", "https://beat.example.com/ping?key=hush", ""},
		{"a token endpoint has https", "OAUTH_TOKEN_URL", "http://hush.internal/token", "8:40  insecure_url"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			env := goodEnv()
			env[tc.name] = tc.value
			if got := strings.Join(checkEnv(t, env), "\n"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSecretsInFilesAreChecked(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "user"), []byte("ann"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ rule, auth, content, want string }{
		{"a line break at the end is the file's", "type: bearer, token: { file: FILE }", "hush\r\n", ""},
		{"one within is not", "type: bearer, token: { file: FILE }", "hush\nhush", jobs.CodeBadSecret},
		{"an empty file", "type: bearer, token: { file: FILE }", "\n", "secret_file"},
		{"a file without end", "type: bearer, token: { file: FILE }", strings.Repeat("hush", 1<<15), "secret_file"},
		{"no file", "type: bearer, token: { file: FILE.none }", "", "secret_file"},
		{"a directory", "type: bearer, token: { file: DIR }", "", "secret_file"},
		{"a header's value may have blanks", "type: headers, headers: { X-A: { file: FILE } }", "ApiKey hush", ""},
		{"a user name has no colon", "type: basic, password: { file: DIR/user }, username: { file: FILE }", "ann:hush", jobs.CodeBadSecret},
		{"a password may have one", "type: basic, username: { file: DIR/user }, password: { file: FILE }", "ann:hush", ""},
		{"but not at its ends", "type: headers, headers: { X-A: { file: FILE } }", "hush ", jobs.CodeBadSecret},
		{"a key is PEM", "type: jwt, key: { file: FILE }", "hush", jobs.CodeBadSecret},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(tc.rule, " ", "-"))
			if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			auth := strings.NewReplacer("FILE", file, "DIR", dir).Replace(tc.auth)
			r, err := jobs.Parse("cronce.yaml", []byte("name: acme\ntargets: { a: { urlEnv: A, auth: { "+auth+" } } }\n"))
			if err != nil {
				t.Fatal(err)
			}
			problems := r.CheckEnv(func(string) (string, bool) { return "https://a.example", true })
			got := ""
			if len(problems) > 0 {
				got = problems[0].Code
			}
			if got != tc.want || len(problems) > 1 || strings.Contains(problems.Error(), "hush") {
				t.Errorf("got %q, want %q", problems, tc.want)
			}
		})
	}
}

func TestStoresOfASwitchedOffPurgeAreNotNeeded(t *testing.T) {
	r, err := jobs.NewRegistry(jobs.Name("acme"), jobs.KeyStore{Name: "db", URLEnv: "DB_URL"}, jobs.Cleanup{DisabledBecause: "pg_cron"})
	if err != nil {
		t.Fatal(err)
	}
	if problems := r.CheckEnv(func(string) (string, bool) { return "", false }); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestBasesWhoseHostOrPortCannotExist(t *testing.T) {
	for _, url := range []string{"https://membership.example:0", "https://membership.example:99999", "https://...", "https://..:8443/x"} {
		env := goodEnv()
		env["PLAIN_URL"] = url
		if got := checkEnv(t, env); !slices.Equal(got, []string{"3:20  bad_url"}) {
			t.Errorf("%s: %q", url, got)
		}
	}
}
