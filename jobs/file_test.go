package jobs_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

// found parses a file and lists its problems as "line:column code".
func found(t *testing.T, file string) (list []string, problems jobs.Problems) {
	t.Helper()
	r, err := jobs.Parse("cronce.yaml", []byte(file))
	if err == nil {
		return nil, nil
	}
	if r != nil {
		t.Error("a registry beside an error")
	}
	if !errors.As(err, &problems) {
		t.Fatalf("the error is a %T, not Problems: %v", err, err)
	}
	for _, p := range problems {
		list = append(list, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Code))
		if p.File != "cronce.yaml" || p.Message == "" {
			t.Errorf("a problem without file or message: %+v", p)
		}
	}
	return list, problems
}

type badFile struct {
	rule string
	file string
	want []string // "line:column code"
	says string   // in the first message
}

func check(t *testing.T, cases []badFile) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.rule, func(t *testing.T) {
			got, problems := found(t, tc.file)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got  %q\nwant %q\n%v", got, tc.want, problems)
			}
			if len(problems) > 0 && !strings.Contains(problems[0].Message, tc.says) {
				t.Errorf("the message lacks %q: %s", tc.says, problems[0].Message)
			}
		})
	}
}

func lines(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// withJob is a registry whose job has these lines after four good ones: they
// begin at line 7, column 5.
func withJob(more ...string) string {
	return lines(append([]string{
		"name: acme",
		"jobs:",
		"  - id: release",
		"    schedule: '@daily'",
		"    targetUrlEnv: ACME_URL",
		"    path: /v1/release",
	}, indent(more)...)...)
}

// withTop is a registry with these lines at the top level, which begin at line 2.
func withTop(more ...string) string { return lines(append([]string{"name: acme"}, more...)...) }

func indent(lines []string) []string {
	var in []string
	for _, l := range lines {
		in = append(in, "    "+l)
	}
	return in
}

func TestRegistryFieldsAreChecked(t *testing.T) {
	check(t, []badFile{
		{"the name is required", lines("version: 1"), []string{"1:1 missing_name"}, "name: acme-platform"},
		{"an empty name is none", lines("version: 1", "name: ''"), []string{"2:7 missing_name"}, ""},
		{"a name is letters, digits, dots, dashes, underscores", lines("name: acme platform"), []string{"1:7 bad_name"}, ""},
		{"a name begins with a letter or digit", lines("name: -acme"), []string{"1:7 bad_name"}, ""},
		{"a name has at most 64 characters", lines("name: " + strings.Repeat("a", 65)), []string{"1:7 bad_name"}, ""},
		{"the version is 1", withTop("version: 2"), []string{"2:10 unsupported_version"}, "version 1"},
		{"the version is a number", withTop("version: one"), []string{"2:10 wrong_type"}, "whole number"},
		{"an unknown field is refused with the likely one", withTop("job: []"), []string{"2:1 unknown_field"}, `did you mean "jobs"?`},
		{"a suggestion ignores case", withTop("keyttls: []"), []string{"2:1 unknown_field"}, `did you mean "keyTTLs"?`},
		{"a field may stand once", withTop("platform: {}", "platform: {}"), []string{"3:1 duplicate_field"}, "on line 2"},
		{"jobs is a list", withTop("jobs: { a: 1 }"), []string{"2:7 wrong_type"}, "must be a list"},
		{"a job is a mapping", withTop("jobs: [ 7 ]"), []string{"2:9 wrong_type"}, "must be a mapping"},
	})
}

func TestJobFieldsAreChecked(t *testing.T) {
	job := func(fields string) string { return withTop("jobs:", "  - { "+fields+" }") }
	check(t, []badFile{
		{"everything that is missing is named", job("enabled: true"),
			[]string{"3:5 missing_id", "3:5 missing_target", "3:5 missing_schedule", "3:5 missing_path"}, ""},
		{"ids are lower case", job("id: Release, schedule: '@daily', targetUrlEnv: A, path: /a"), []string{"3:11 bad_id"}, "a-z"},
		{"an id has at most 64 characters", job("id: " + strings.Repeat("a", 65) + ", schedule: '@daily', targetUrlEnv: A, path: /a"), []string{"3:11 bad_id"}, ""},
		{"an id is a text", job("id: 2026, schedule: '@daily', targetUrlEnv: A, path: /a"), []string{"3:11 wrong_type"}, "in quotes"},
		{"the built-in job's id is taken", job("id: purge-expired-keys, schedule: '@daily', targetUrlEnv: A, path: /a"), []string{"3:11 reserved_id"}, "cleanup.schedule"},
		{"a schedule's column is the file's, in quotes", job(`id: a, schedule: "0 25 * * *", targetUrlEnv: A, path: /a`), []string{"3:27 bad_schedule"}, "hour"},
		{"a schedule's column is the file's, without quotes", withTop("jobs:", "- id: a", "  schedule: 0 25 * * *", "  targetUrlEnv: A", "  path: /a"), []string{"4:15 bad_schedule"}, ""},
		{"a schedule in a block has the block's place", withTop("jobs:", "- id: a", "  schedule: >-", "    0 25 * * *", "  targetUrlEnv: A", "  path: /a"), []string{"4:13 bad_schedule"}, ""},
		{"an expression that never fires", job(`id: a, schedule: "0 0 30 2 *", targetUrlEnv: A, path: /a`), []string{"3:29 bad_schedule"}, ""},
		{"the zone is an IANA name", withJob("timezone: Mars/Olympus"), []string{"7:15 bad_timezone"}, ""},
		{"a zone in the expression is complained about there", job(`id: a, schedule: "CRON_TZ=Mars/Olympus 0 0 * * *", targetUrlEnv: A, path: /a`), []string{"3:33 bad_timezone"}, ""},
		{"dst is one of three", withJob("dst: twice"), []string{"7:10 bad_value"}, "once, skip, wall"},
		{"overlap is one of three", withJob("overlap: skpi"), []string{"7:14 bad_value"}, `did you mean "skip"?`},
		{"catchUp is one of three", withJob("catchUp: last"), []string{"7:14 bad_value"}, ""},
		{"methods are in capitals", withJob("method: post"), []string{"7:13 bad_value"}, "POST"},
		{"either target or targetUrlEnv", withJob("target: x"), []string{"5:19 two_targets"}, "keep one"},
		{"targetUrlEnv is a name, not a URL", job("id: a, schedule: '@daily', targetUrlEnv: 'https://u:hush@h', path: /a"), []string{"3:48 bad_variable_name"}, "not shown"},
		{"timeout has a unit", withJob("timeout: 30"), []string{"7:14 bad_duration"}, "30s"},
		{"a day is no unit", withJob("catchUpWindow: 7d"), []string{"7:20 bad_duration"}, "24h"},
		{"timeout is not negative", withJob("timeout: -5s"), []string{"7:14 negative_duration"}, "-5s"},
		{"timeout is not zero", withJob("timeout: 0s"), []string{"7:14 zero_duration"}, ""},
		{"timeout has a bound", withJob("timeout: 10000h"), []string{"7:14 bad_duration"}, "maximum"},
		{"a duration that overflows", withJob("timeout: 9999999999999h"), []string{"7:14 bad_duration"}, ""},
		{"no wait is negative", withJob("retry: { backoff: [1s, -2s] }"), []string{"7:28 negative_duration"}, ""},
		{"waits are durations", withJob("retry:", "  backoff:", "    - 1s", "    - soon"), []string{"10:11 bad_duration"}, ""},
		{"jitter is a fraction", withJob("retry: { jitter: 20 }"), []string{"7:22 out_of_range"}, "0 to 1"},
		{"the horizon is not zero", withJob("retry: { horizon: 0s }"), []string{"7:23 zero_duration"}, ""},
		{"maxInFlight is not negative", withJob("maxInFlight: -1"), []string{"7:18 out_of_range"}, ""},
		{"enabled is true or false, not yes", withJob("enabled: yes"), []string{"7:14 wrong_type"}, "true or false"},
		{"a scope is one token", withJob(`scopes: ["a:b", "c d"]`), []string{"7:21 bad_scope"}, "RFC 6749"},
		{"a scope stands once", withJob(`scopes: [a, a]`), []string{"7:17 duplicate_scope"}, ""},
		{"a key scope has no star", withJob("keyScope: 'event:*'"), []string{"7:15 bad_scope"}, ""},
		{"a field of another place is refused", withJob("backoff: [1s]"), []string{"7:5 unknown_field"}, ""},
		{"an unknown field within retry", withJob("retry: { backof: [1s] }"), []string{"7:14 unknown_field"}, `did you mean "backoff"?`},
	})
}

func TestPathsAreSentAsWritten(t *testing.T) {
	for _, tc := range []struct{ rule, path, says string }{
		{"begins with a slash", "v1/x", "must begin with /"},
		{"holds no host", "https://h/x", "must begin with /"},
		{"holds no host in disguise", "//h/x", "no //"},
		{"has no white space", "/a b", "percent-encode"},
		{"has no line break", `/a\r\nX: y`, "percent-encode"},
		{"is ASCII", "/ä", "percent-encode"},
		{"has no fragment", "/a#b", "fragment"},
		{"has whole escapes", "/a%2", "%25"},
		{"does not climb", "/a/../b", "/../"},
		{"does not climb in disguise", "/a/%2e%2e/b", "/../"},
		{"is bounded", "/" + strings.Repeat("a", 2048), "at most 2048"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			file := withTop("jobs:", `- { id: a, schedule: "@daily", targetUrlEnv: A, path: "`+tc.path+`" }`)
			got, problems := found(t, file)
			if !slices.Equal(got, []string{"3:55 bad_path"}) || !strings.Contains(problems[0].Message, tc.says) {
				t.Errorf("got %v, want %q", problems, tc.says)
			}
		})
	}
	r, err := jobs.Parse("f", []byte(withTop("jobs:", "- { id: a, schedule: '@daily', targetUrlEnv: A, path: '/a%2Fb?dry=1&x=//' }")))
	if err != nil {
		t.Fatal(err)
	}
	if j, _ := r.Job("a"); j.Path != "/a%2Fb?dry=1&x=//" || j.KeyScope != "route:POST_/a%2Fb" {
		t.Errorf("path %q, key scope %q", j.Path, j.KeyScope)
	}
}

func TestDuplicateIDNamesBothLines(t *testing.T) {
	file := withTop("jobs:",
		"  - { id: a, schedule: '@daily', targetUrlEnv: A, path: /a }",
		"  - { id: b, schedule: '@daily', targetUrlEnv: A, path: /a }",
		"  - { id: a, schedule: '@daily', targetUrlEnv: A, path: /a }")
	got, problems := found(t, file)
	if !slices.Equal(got, []string{"5:11 duplicate_id"}) {
		t.Fatalf("got %v", problems)
	}
	for _, want := range []string{":5:11: ", "on line 3"} {
		if !strings.Contains(problems[0].Error(), want) {
			t.Errorf("the message lacks %q: %s", want, problems[0].Message)
		}
	}
	if problems[0].Job != "a" {
		t.Errorf("job %q", problems[0].Job)
	}
}

func TestBodiesAreJSON(t *testing.T) {
	check(t, []badFile{
		{"a text is JSON text", withJob(`body: '{"reason": '`), []string{"7:11 bad_body"}, "not JSON"},
		{"JSON has no not-a-number", withJob(`body: { a: .nan }`), []string{"7:16 bad_body"}, ""},
		{"JSON has no infinity", withJob(`body: [ 1, -.inf ]`), []string{"7:16 bad_body"}, ""},
		{"a leading zero is octal to some", withJob(`body: { zip: 01234 }`), []string{"7:18 ambiguous_value"}, `write "01234" with quotes`},
		{"also below zero, and with digits that octal has not", withJob(`body: [ -012, 098, 00, 007.5 ]`),
			[]string{"7:13 ambiguous_value", "7:19 ambiguous_value", "7:24 ambiguous_value", "7:28 ambiguous_value"}, ""},
		{"an exponent is a text to some", withJob(`body: { a: 1e3, b: 1.0e3, c: 12E5 }`),
			[]string{"7:16 ambiguous_value", "7:24 ambiguous_value", "7:34 ambiguous_value"}, "1e3"},
		{"a text to YAML 1.1, and one to YAML 1.2", withJob(`body: { a: 0o17, b: -0x10 }`), []string{"7:16 ambiguous_value", "7:25 ambiguous_value"}, ""},
		{"a plus would be lost", withJob(`body: { phone: +4930123456 }`), []string{"7:20 ambiguous_value"}, ""},
		{"underlines are YAML 1.1's", withJob(`body: { a: 1_000, b: 0b11 }`), []string{"7:16 ambiguous_value", "7:26 ambiguous_value"}, ""},
		{"a number of 30 digits", withJob(`body: { id: 123456789012345678901234567890 }`), []string{"7:17 ambiguous_value"}, "more digits than 64 bits"},
		{"words that some take for true or false", withJob(`body: { country: NO, a: [yes, Off] }`),
			[]string{"7:22 ambiguous_value", "7:30 ambiguous_value", "7:35 ambiguous_value"}, `write true or false, or "NO" with quotes`},
		{"the whole body", withJob(`body: 0123`), []string{"7:11 ambiguous_value"}, ""},
		{"numbers of fields too", withJob(`maxInFlight: 010`), []string{"7:18 ambiguous_value"}, ""},
		{"names are texts", withJob(`body: { 1: a }`), []string{"7:13 wrong_type"}, ""},
		{"names are unique", withJob(`body: { a: 1, a: 2 }`), []string{"7:19 duplicate_field"}, ""},
		{"a GET has none", withJob("method: GET", "body: {}"), []string{"8:11 bad_body"}, "GET"},
		{"a body is bounded", withJob(`body: { a: "` + strings.Repeat("a", 300<<10) + `" }`), []string{"7:11 bad_body"}, "maximum is 262144"},
	})
	for _, tc := range []struct{ rule, body, want string }{
		{"a mapping, names sorted", "{ b: 1, a: [true, null, x] }", `{"a":[true,null,"x"],"b":1}`},
		{"digits are kept", "{ n: 12345678901234567890.10 }", `{"n":12345678901234567890.10}`},
		{"quotes make texts", `{ a: "01234", b: '1e3', c: "no", d: "123456789012345678901234567890" }`, `{"a":"01234","b":"1e3","c":"no","d":"123456789012345678901234567890"}`},
		{"what only looks like a number is a text", `{ a: 2026-11-21, b: 10:30, c: 1.2.3, d: 10.0.0.1, e: 7e, f: 0x, g: 1-2, h: none }`,
			`{"a":"2026-11-21","b":"10:30","c":"1.2.3","d":"10.0.0.1","e":"7e","f":"0x","g":"1-2","h":"none"}`},
		{"clear numbers", "[ 0, -1, 0.50, -0.5, 1.5e+3, 9223372036854775807, 18446744073709551615 ]", "[0,-1,0.50,-0.5,1.5e+3,9223372036854775807,18446744073709551615]"},
		{"YAML's other numbers are converted", "{ n: 0x10 }", `{"n":16}`},
		{"no HTML escapes", "{ a: '<&>' }", `{"a":"<&>"}`},
		{"JSON text as it is", `'{"b": 1, "a": 2}'`, `{"b":1,"a":2}`},
		{"a text", `'"hello"'`, `"hello"`},
		{"a number", "7", "7"},
		{"null stands for the default", "null", `{"jobId":"release","runId":"release@2026-11-21T03:00:00Z","scheduledAt":"2026-11-21T03:00:00Z"}`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			r, err := jobs.Parse("f", []byte(withJob("body: "+tc.body)))
			if err != nil {
				t.Fatal(err)
			}
			j, _ := r.Job("release")
			at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
			if got := string(j.RequestBody(jobs.RunID(j.ID, at), at)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestTargetsStoresAndTTLsAreChecked(t *testing.T) {
	job := func(target string) string {
		return "jobs: [ { id: a, schedule: '@daily', path: /a, " + target + " } ]"
	}
	check(t, []badFile{
		{"an unknown target is refused with the likely one", withTop("targets: { membership: { urlEnv: A } }", job("target: membershp")),
			[]string{"3:56 unknown_target"}, `did you mean "membership"?`},
		{"a variable of two targets does not say which", withTop("targets: { x: { urlEnv: A }, y: { urlEnv: A } }", job("targetUrlEnv: A")),
			[]string{"3:62 ambiguous_target"}, "target: x"},
		{"a target has a URL", withTop("targets: { x: {} }"), []string{"2:12 missing_field"}, "urlEnv"},
		{"a target written as nothing has no URL", withTop("targets:", "  x:"), []string{"3:3 missing_field"}, "urlEnv"},
		{"a target's name is as a job's id", withTop("targets: { X: { urlEnv: A } }"), []string{"2:12 bad_name"}, ""},
		{"the built-in target's name is taken", withTop("targets: { cronce: { urlEnv: A } }"), []string{"2:12 bad_name"}, "built-in"},
		{"a secret in place of its variable's name is not repeated", withTop("targets: { x: { urlEnv: A, auth: { type: bearer, token: { env: 'hush-hush!' } } } }"),
			[]string{"2:64 bad_variable_name"}, "not shown"},
		{"bearer needs a token", withTop("targets: { x: { urlEnv: A, auth: { type: bearer } } }"), []string{"2:34 missing_field"}, "token"},
		{"oauth2 needs three variables", withTop("targets: { x: { urlEnv: A, auth: { type: oauth2 } } }"),
			[]string{"2:34 missing_field", "2:34 missing_field", "2:34 missing_field"}, "is missing"},
		{"another type's field is refused", withTop("targets: { x: { urlEnv: A, auth: { type: none, token: { env: B } } } }"), []string{"2:55 needless_field"}, "bearer"},
		{"auth types are named", withTop("targets: { x: { urlEnv: A, auth: { type: digest } } }"), []string{"2:42 bad_value"}, "none, bearer, oauth2, basic, headers, jwt, hmac, sigv4"},
		{"a secret itself is not repeated", withTop("targets: { x: { urlEnv: A, auth: { type: bearer, token: hush } } }"), []string{"2:57 wrong_type"}, "a mapping"},
		{"a secret is in one place", withTop("targets: { x: { urlEnv: A, auth: { type: bearer, token: { env: B, file: /c } } } }"), []string{"2:57 needless_field"}, "keep one"},
		{"a secret's file has an absolute path", withTop("targets: { x: { urlEnv: A, auth: { type: bearer, token: { file: hush } } } }"), []string{"2:65 bad_path"}, "not shown"},
		{"basic needs two secrets", withTop("targets: { x: { urlEnv: A, auth: { type: basic } } }"), []string{"2:34 missing_field", "2:34 missing_field"}, "is missing"},
		{"jwt and hmac need one", withTop("targets: { x: { urlEnv: A, auth: { type: jwt } }, y: { urlEnv: A, auth: { type: hmac } } }"), []string{"2:34 missing_field", "2:73 missing_field"}, "is missing"},
		{"sigv4 needs a region, a service and a key", withTop("targets: { x: { urlEnv: A, auth: { type: sigv4 } } }"),
			[]string{"2:34 missing_field", "2:34 missing_field", "2:34 missing_field", "2:34 missing_field"}, "is missing"},
		{"a region is AWS's", withTop("targets: { x: { urlEnv: A, auth: { type: sigv4, region: EU/1, service: lambda, accessKeyId: { env: B }, secretAccessKey: { env: C } } } }"),
			[]string{"2:57 bad_name"}, "eu-central-1"},
		{"S3 is signed otherwise", withTop("targets: { x: { urlEnv: A, auth: { type: sigv4, region: eu-west-1, service: s3, accessKeyId: { env: B }, secretAccessKey: { env: C } } } }"),
			[]string{"2:77 bad_value"}, "another form"},
		{"a region belongs to sigv4", withTop("targets: { x: { urlEnv: A, auth: { type: none, region: b, service: c } } }"), []string{"2:56 needless_field", "2:68 needless_field"}, "sigv4"},
		{"headers need a field", withTop("targets: { x: { urlEnv: A, auth: { type: headers } } }"), []string{"2:34 missing_field"}, "X-Api-Key"},
		{"a header has a value", withTop("targets: { x: { urlEnv: A, auth: { type: headers, headers: { X-A: } } } }"), []string{"2:62 missing_field"}, "headers.X-A is missing"},
		{"a header's name is one", withTop("targets: { x: { urlEnv: A, auth: { type: headers, headers: { 'X A': { env: B } } } } }"), []string{"2:62 bad_name"}, "header name"},
		{"a header that calls have cannot be set", withTop("targets: { x: { urlEnv: A, auth: { type: headers, headers: { idempotency-key: { env: B } } } } }"), []string{"2:62 bad_name"}, "the call's own"},
		{"nor one of ours", withTop("targets: { x: { urlEnv: A, auth: { type: headers, headers: { Cronce-X: { env: B } } } } }"), []string{"2:62 bad_name"}, "the call's own"},
		{"a header stands once", withTop("targets: { x: { urlEnv: A, auth: { type: headers, headers: { X-A: { env: B }, x-a: { env: B } } } } }"), []string{"2:79 duplicate_name"}, "one field"},
		{"an audience belongs to jwt", withTop("targets: { x: { urlEnv: A, auth: { type: none, audience: b } } }"), []string{"2:58 needless_field"}, "jwt"},
		{"a certificate has its key", withTop("targets: { x: { urlEnv: A, tls: { cert: { env: B } } } }"), []string{"2:41 missing_field"}, "key is missing beside cert"},
		{"a key has its certificate", withTop("targets: { x: { urlEnv: A, tls: { key: { env: B } } } }"), []string{"2:40 missing_field"}, "cert is missing beside key"},
		{"a certificate is in one place", withTop("targets: { x: { urlEnv: A, tls: { ca: { env: B, file: /c } } } }"), []string{"2:39 needless_field"}, "keep one"},
		{"an audience is visible", withTop("targets: { x: { urlEnv: A, auth: { type: jwt, key: { env: B }, audience: 'a b' } } }"), []string{"2:74 bad_value"}, "audience"},
		{"a name of control characters is not printed raw", withTop(`targets: { "\e[2J": { urlEnv: A, x: 1 } }`), []string{"2:12 bad_name", "2:34 unknown_field"}, `\x1b[2J`},
		{"a target stands once", withTop("targets:", "  x: { urlEnv: A }", "  x: { urlEnv: B }"), []string{"4:3 duplicate_field"}, "line 3"},
		{"a scope has one ttl", withTop("keyTTLs: [ { scope: a, ttl: 1h }, { scope: a, ttl: 2h } ]"), []string{"2:44 duplicate_scope"}, "on line 2"},
		{"a star ends a pattern", withTop("keyTTLs: [ { scope: 'a*b', ttl: 1h } ]"), []string{"2:21 bad_scope"}, "at its end"},
		{"a ttl has a scope and a time", withTop("keyTTLs: [ {} ]"), []string{"2:12 missing_field", "2:12 missing_field"}, ""},
		{"a ttl is not negative", withTop("keyTTLs: [ { scope: a, ttl: -1h } ]"), []string{"2:29 negative_duration"}, ""},
		{"an age is not negative", withTop("platform: { eventAge: -1h }"), []string{"2:23 negative_duration"}, ""},
		{"a store stands once", withTop("keyStores: [ { name: a, urlEnv: A }, { name: a, urlEnv: B } ]"), []string{"2:46 duplicate_name"}, ""},
		{"a store has a variable", withTop("keyStores: [ { name: a } ]"), []string{"2:14 missing_field"}, "urlEnv"},
		{"a schema is an identifier", withTop(`keyStores: [ { name: a, urlEnv: A, schema: 'a"; DROP' } ]`), []string{"2:44 bad_name"}, ""},
		{"an audit is kept for a day", withTop(`cleanup: { auditRetention: 1s }`), []string{"2:28 bad_duration"}, "too short; the minimum is 24h"},
		{"dead runs are kept for a day", withTop(`cleanup: { deadRetention: 23h59m }`), []string{"2:27 bad_duration"}, "too short; the minimum is 24h"},
		{"the purge's schedule is parsed", withTop(`cleanup: { schedule: "30 25 * * *" }`), []string{"2:26 bad_schedule"}, ""},
		{"the purge is not switched off without a reason", withTop("cleanup: { enabled: false }"), []string{"2:21 missing_reason"}, "reason"},
		{"a reason without switching off", withTop("cleanup: { reason: x }"), []string{"2:20 needless_field"}, ""},
	})
}

// Everything that is wrong with one file is said at once, in its order.
func TestAllProblemsAtOnce(t *testing.T) {
	_, err := jobs.Load("testdata/problems.yaml")
	if err == nil {
		t.Fatal("accepted")
	}
	golden(t, "testdata/problems.golden", err.Error()+"\n")
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (UPDATE_GOLDEN=1 rewrites it):\n%s", file, got)
	}
}
