package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

func TestMembersHaveRunIDsOfTheirOwn(t *testing.T) {
	parent := "bill@2026-11-01T03:00:00Z"
	seen := map[string]string{}
	for _, key := range []string{
		"acme", "A.b-c_d", "7", "_acme", "-", "a b", "a/b", "ü", "a@b", "a::b", "a~b", strings.Repeat("x", 48), strings.Repeat("x", 49), strings.Repeat("ü", 250), "\n",
	} {
		id, err := jobs.MemberRunID(parent, key)
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		if first, twice := seen[id]; twice {
			t.Errorf("%q and %q have the run ID %s", first, key, id)
		}
		seen[id] = key
		job, at, token, err := jobs.ParseRunID(id)
		if err != nil || job != "bill" || at.Format(time.RFC3339) != "2026-11-01T03:00:00Z" || token != "" || len(id) > jobs.MaxRunIDLength {
			t.Errorf("%s of %q: %s %s %q %v", id, key, job, at, token, err)
		}
	}
	for key, want := range map[string]string{"acme": "bill::acme@2026-11-01T03:00:00Z", "a b": "bill::_p1k7k25ablnd412353t6kqbqn0@2026-11-01T03:00:00Z"} {
		if got, _ := jobs.MemberRunID(parent, key); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
	for _, key := range []string{"", ".", "..", "a\x00", "\xff", strings.Repeat("x", jobs.MaxMemberKey+1)} {
		if id, err := jobs.MemberRunID(parent, key); err == nil {
			t.Errorf("%q: %s", key, id)
		}
	}
}

// The members of a rerun have its token, and room in a run ID.
func TestMembersOfARerunHaveItsToken(t *testing.T) {
	long := strings.Repeat("j", jobs.MaxEachID)
	parent := jobs.RunIDWithToken(long, time.Unix(0, 0), "00000000-0000-0000-0000-000000000000")
	id, err := jobs.MemberRunID(parent, strings.Repeat("x", 40))
	if err != nil || len(id) != jobs.MaxRunIDLength {
		t.Fatalf("%s (%d): %v", id, len(id), err)
	}
	if job, _, token, err := jobs.ParseRunID(id); job != long || token == "" || err != nil {
		t.Errorf("%s %q %v", job, token, err)
	}
	for _, bad := range []string{"bill::@2026-11-01T03:00:00Z", "bill::a::b@2026-11-01T03:00:00Z", "::a@2026-11-01T03:00:00Z", "bill::a b@2026-11-01T03:00:00Z"} {
		if _, _, _, err := jobs.ParseRunID(bad); !errors.Is(err, jobs.ErrBadRunID) {
			t.Errorf("%s is a run ID", bad)
		}
	}
}

func TestEachIsChecked(t *testing.T) {
	const head = "version: 1\nname: n\ntargets: { svc: { urlEnv: SVC } }\njobs:\n  - { id: bill, target: svc, "
	for line, says := range map[string]string{
		`schedule: "0 3 * * *", path: "/t/{{key}}", each: { path: /tenants, items: tenants.id } }`:                "",
		`schedule: "0 3 * * *", path: /t, body: { tenant: "{{key}}" }, each: { path: /tenants?active=1 } }`:       "",
		`schedule: "0 3 * * *", path: /t, each: { path: /tenants } }`:                                             "", // the default body has the key
		`schedule: "0 3 * * *", path: /t, body: { a: 1 }, each: { path: /tenants } }`:                             "has {{key}}",
		`schedule: "0 3 * * *", path: "/t/{{runId}}", each: { path: /tenants } }`:                                 "unknown placeholder",
		`schedule: "0 3 * * *", path: "/t/{{key}}" }`:                                                             "characters that a URL cannot have",
		`schedule: "0 3 * * *", path: "/t/{{key}}", each: { items: id } }`:                                        "path",
		`schedule: "0 3 * * *", path: "/t/{{key}}", each: { path: tenants } }`:                                    "must begin with /",
		`schedule: "0 3 * * *", path: "/t/{{key}}", each: { path: /tenants, items: a..b } }`:                      "invalid items",
		`schedule: "0 3 * * *", path: "/t/{{key}}", each: { path: /tenants, max: 1000001 } }`:                     "out of range",
		`schedule: "0 3 * * *", path: "/t/{{key}}", maxInFlight: 3, each: { path: /tenants } }`:                   "remove maxInFlight",
		`schedule: "0 3 * * *", path: "/t/{{key}}", headers: { X-Tenant: "{{key}}" }, each: { path: /tenants } }`: "unknown placeholder",
		`path: "/t/{{key}}", keyed: { max: 3 }, each: { path: /tenants } }`:                                       "a job with keyed cannot have each",
	} {
		_, err := jobs.Parse("jobs.yaml", []byte(head+line+"\n"))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s\n\t%v\n\twant %q", line, err, says)
		}
	}
	long := strings.Replace(head, "bill", strings.Repeat("j", jobs.MaxEachID+1), 1)
	if _, err := jobs.Parse("jobs.yaml", []byte(long+`schedule: "0 3 * * *", path: "/t/{{key}}", each: { path: /tenants } }`)); err == nil || !strings.Contains(err.Error(), "at most 4") {
		t.Errorf("a long id: %v", err)
	}
}

func TestADefinitionHasEach(t *testing.T) {
	reg, err := jobs.Parse("jobs.yaml", []byte("version: 1\nname: n\ntargets: { svc: { urlEnv: SVC } }\njobs:\n  - { id: bill, target: svc, schedule: \"0 3 * * *\", path: \"/t/{{key}}\", each: { path: /tenants, inFlight: 3 } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, _ := reg.Job("bill")
	body, _, err := j.Definition()
	if err != nil {
		t.Fatal(err)
	}
	again, err := jobs.ParseDefinition(body)
	if want := (jobs.Each{Path: "/tenants", Max: jobs.DefaultEachMax, InFlight: 3}); err != nil || again.Each != want || !reg.FansOut() {
		t.Errorf("%+v %v, want %+v", again.Each, err, want)
	}
}
