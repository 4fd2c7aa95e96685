package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testfan"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

const tenantsRegistry = `version: 1
name: acme-platform
targets:
  membership: { urlEnv: MEMBERSHIP_URL }
jobs:
  - { id: bill, schedule: "0 3 * * *", target: membership, path: "/v1/tenants/{{key}}/bill", each: { path: /v1/tenants } }
`

// What the commands print about a run whose members are done, dead and unfinished.
func TestMembersGolden(t *testing.T) {
	t.Parallel()
	d := newDesk(t, tenantsRegistry)
	id := d.fanOut()
	var text strings.Builder
	for _, args := range [][]string{
		{"runs", "show", id}, {"runs", "members", id}, {"runs", "members", id, "--state", "not_succeeded"},
		{"runs", "members", id, "--state", "dead", "--json"}, {"runs", "members", id, "--key", "ac*", "-o", "id"},
		{"runs", "members", id, "--state", "not_succeeded", "--format", "csv"}, {"runs", "members", id, "--state", "late"},
		{"runs", "members", "bill@2026-11-20T03:00:00Z"}, {"why", "bill", "03:00", "initech"}, {"why", "bill", "03:00", "hooli"},
		{"runs", "redrive", "--parent", id, "--why", "paid", "--dry-run"}, {"runs", "ack", "bill::initech@2026-11-21T03:00:00Z", "--why", "closed"},
		{"runs", "members", id, "--state", "not_succeeded"},
	} {
		text.WriteString(strings.ReplaceAll(d.transcript(args...), d.dir, "DIR"))
	}
	golden(t, "members", text.String())
}

func (d *desk) fanOut() (runID string) {
	d.Helper()
	at := noon.Truncate(24 * time.Hour).Add(3 * time.Hour)
	reg, err := jobs.Load(d.env["CRONCE_CONFIG"])
	d.must(err)
	clock := at.Add(-time.Hour)
	l, err := sqlite.Open(d.Context(), d.path("ledger.db"), sqlite.Options{Now: func() time.Time { return clock }})
	d.must(err)
	defer l.Close()
	d.must(l.Declare(d.Context(), declaration(reg)))
	_, err = l.Assignments(d.Context(), reg.Version(), "")
	d.must(err)
	clock = at
	run := ledger.RunSpec{
		RunID: "bill@" + at.Format(time.RFC3339), ScheduledAt: at, State: ledger.Planned, Trigger: ledger.BySchedule, Count: 1,
		Call: ledger.CallSpec{Horizon: 24 * time.Hour, KeySafeFor: 24 * time.Hour, Target: "membership", Method: "POST", Path: "/v1/tenants/{{key}}/bill",
			Each: &ledger.Each{Path: "/v1/tenants", Max: 100}},
	}
	testfan.Out(d.T, l, run, "bill", []string{"acme", "acorn", "globex", "initech", "umbrella"}, 4, func(key string) ledger.State {
		if key == "initech" {
			return ledger.Dead
		}
		return ledger.Succeeded
	})
	return run.RunID
}
