package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/jobs"
)

var three = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func TestRunIDIsTheJobAndItsScheduledTimeInUTC(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for _, tc := range []struct{ rule, got, want string }{
		{"scheduled", jobs.RunID("release", three), "release@2026-11-21T03:00:00Z"},
		{"any zone, one id", jobs.RunID("release", three.In(berlin)), "release@2026-11-21T03:00:00Z"},
		{"whole seconds", jobs.RunID("release", three.Add(999*time.Millisecond)), "release@2026-11-21T03:00:00Z"},
		{"triggered", jobs.RunIDWithToken("release", three, "0192"), "release@2026-11-21T03:00:00Z~0192"},
		{"a range", jobs.RangeID("release", three, three.Add(time.Hour)), "release@2026-11-21T03:00:00Z/2026-11-21T04:00:00Z"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.rule, tc.got, tc.want)
		}
	}
}

func TestOnlyTheCanonicalRunIDIsRead(t *testing.T) {
	const at = "@2026-11-21T03:00:00Z"
	for _, tc := range []struct{ rule, id string }{
		{"empty", ""},
		{"no scheduled time", "release"},
		{"no job", at},
		{"a job's id is lower case", "Release" + at},
		{"a job's id has 64 characters at most", strings.Repeat("a", 65) + at},
		{"no fractions of a second", "release@2026-11-21T03:00:00.5Z"},
		{"no offset", "release@2026-11-21T04:00:00+01:00"},
		{"lower-case letters", "release@2026-11-21t03:00:00z"},
		{"a day that is none", "release@2026-02-30T03:00:00Z"},
		{"a leap second", "release@2026-12-31T23:59:60Z"},
		{"a year of five digits", "release@12026-11-21T03:00:00Z"},
		{"one digit in the hour", "release@2026-11-21T3:00:00Z"},
		{"a comma for a point", "release@2026-11-21T03:00:00,0Z"},
		{"an empty token", "release" + at + "~"},
		{"two tokens", "release" + at + "~a~b"},
		{"a range", "release" + at + "/2026-11-21T04:00:00Z"},
		{"white space at the end", "release" + at + " "},
		{"another header", "release" + at + "~a\r\nX-Admin: yes"},
		{"a quote", "release" + at + `~a"`},
		{"not ASCII", "release" + at + "~ä"},
		{"129 bytes", "release" + at + "~" + strings.Repeat("a", 129-len("release")-len(at)-1)},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			job, _, token, err := jobs.ParseRunID(tc.id)
			if !errors.Is(err, jobs.ErrBadRunID) || job != "" || token != "" {
				t.Errorf("ParseRunID(%q): job %q, token %q, error %v", tc.id, job, token, err)
			}
		})
	}
}

func TestARunIDMayHaveAnyOffset(t *testing.T) {
	for id, want := range map[string]string{
		"a@2026-11-21T08:00:00+01:00":                           "a@2026-11-21T07:00:00Z",
		"a@2026-11-20T21:00:00-10:00":                           "a@2026-11-21T07:00:00Z",
		"a@2026-11-21T08:00:00+01:00~0193":                      "a@2026-11-21T07:00:00Z~0193",
		"a@2026-11-21T02:00:00+01:00/2026-11-21T00:00:00-03:00": "a@2026-11-21T01:00:00Z/2026-11-21T03:00:00Z",
		"a@2026-11-21T07:00:00Z":                                "a@2026-11-21T07:00:00Z", "a@x": "a@x", "a": "a",
		"a@2026-11-21T07:00:00Z~b/c": "a@2026-11-21T07:00:00Z~b/c", "a@2026-11-21T08:00:00+01:00/x": "a@2026-11-21T08:00:00+01:00/x",
		"a@2026-11-21T08:00:00.5+01:00": "a@2026-11-21T08:00:00.5+01:00",
	} {
		if got := jobs.CanonicalRunID(id); got != want {
			t.Errorf("%s gives %s, want %s", id, got, want)
		}
	}
}

func TestLongestRunIDsFit(t *testing.T) {
	job := strings.Repeat("j", 64)
	uuid := "0192f0c1-5b7e-7cc0-8000-0123456789ab"
	id := jobs.RunIDWithToken(job, three, uuid)
	got, at, token, err := jobs.ParseRunID(id)
	if err != nil || got != job || !at.Equal(three) || token != uuid {
		t.Errorf("ParseRunID(%q): %q %v %q %v", id, got, at, token, err)
	}
}

func TestJobIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "7": true, "a.b-c_d": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, ".a": false, "_a": false, "A": false, "a b": false, "a@b": false, "a~b": false,
		"a/b": false, "ä": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		if got := jobs.ValidJobID(id); got != want {
			t.Errorf("ValidJobID(%q) = %v", id, got)
		}
	}
}

func TestEveryRunIDRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,63}`).Draw(t, "job")
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "at"), 0).UTC()
		id, token := jobs.RunID(job, at), ""
		if rapid.Bool().Draw(t, "triggered") {
			token = rapid.StringMatching(`[A-Za-z0-9._-]{1,36}`).Draw(t, "token")
			id = jobs.RunIDWithToken(job, at, token)
		}
		gotJob, gotAt, gotToken, err := jobs.ParseRunID(id)
		if err != nil || gotJob != job || !gotAt.Equal(at) || gotToken != token {
			t.Fatalf("ParseRunID(%q) = %q, %v, %q, %v", id, gotJob, gotAt, gotToken, err)
		}
	})
}

func FuzzParseRunID(f *testing.F) {
	for _, id := range []string{
		"release@2026-11-21T03:00:00Z", "release@2026-11-21T03:00:00Z~0192f0c1-5b7e-7cc0-8000-0123456789ab",
		"a@0000-01-01T00:00:00Z", "a@2026-11-21T03:00:00.000Z", "a@2026-11-21T03:00:00Z/2026-11-21T04:00:00Z", "a@~", "@", "a@2026-11-21T03:00:00Z~a\r\nb",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		job, at, token, err := jobs.ParseRunID(id)
		if err != nil {
			return
		}
		again := jobs.RunID(job, at)
		if token != "" {
			again = jobs.RunIDWithToken(job, at, token)
		}
		if again != id {
			t.Errorf("%q is read, and written as %q", id, again)
		}
		if len(id) > jobs.MaxRunIDLength || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q is no header value", id)
		}
	})
}
