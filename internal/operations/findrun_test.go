package operations_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// crowd is a ledger with very many runs of one second, listed in pages.
type crowd struct {
	ledger.Store
	runs []ledger.Run
}

func (c crowd) List(_ context.Context, f ledger.Filter) (page []ledger.Run, err error) {
	for _, r := range c.runs {
		later := f.Before != nil && r.ID >= f.Before.ID
		if !later && !r.ScheduledAt.Before(f.Since) && r.ScheduledAt.Before(f.Until) && len(page) < f.Limit {
			page = append(page, r)
		}
	}
	return page, nil
}

// berlin is a registry with a job in another zone than UTC.
func berlin(t *testing.T) *jobs.Registry {
	t.Helper()
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Job{ID: "berlin", Schedule: "30 2 * * *", Timezone: "Europe/Berlin", Target: "svc", Path: "/"},
		jobs.Job{ID: "twice", Schedule: "*/30 * * * *", Timezone: "Europe/Berlin", Target: "svc", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// Members returns the runs of a parent in pages of a thousand.
func (c crowd) Members(_ context.Context, f ledger.MemberFilter) (page ledger.MemberPage, err error) {
	for i := range c.runs {
		r := &c.runs[i]
		if r.Parent == f.Parent && r.ID > f.After {
			page.Members = append(page.Members, ledger.MemberRun{Member: ledger.Member{RunID: r.ID}, Run: r})
		}
		if len(page.Members) == f.Limit {
			page.Next = r.ID
			break
		}
	}
	return page, nil
}

// A list of a second has parents, and not their members.
func TestAMemberIsFoundByItsKeyInEveryForm(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	parent := jobs.RunID("payroll", at)
	all := []ledger.Run{{ID: parent, ScheduledAt: at, Fan: ledger.Fan{Members: 2500}}}
	for n := range 2500 {
		id, err := jobs.MemberRunID(parent, fmt.Sprintf("emp%05d", n))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ledger.Run{ID: id, Parent: parent}) // in no list of the second
	}
	s := operations.New(operations.Config{Ledger: crowd{runs: all}})
	for _, form := range []jobs.KeyForm{jobs.KeyRunID, jobs.KeyUUID4, jobs.KeyUUID7, jobs.KeyHex32, jobs.KeyToken22, jobs.KeyToken64} {
		if got, err := s.FindRun(t.Context(), form.Of(all[2400].ID)); err != nil || got != all[2400].ID {
			t.Errorf("%s: %s, %v; want %s", form, got, err, all[2400].ID)
		}
	}
	stranger := jobs.KeyUUID4.Of(jobs.RunID("stranger", at))
	if got, err := s.FindRun(t.Context(), stranger); err != nil || got != stranger {
		t.Errorf("the key of no run: %s, %v; want it back", got, err)
	}
	for n := range 100_000 {
		all = append(all, ledger.Run{ID: fmt.Sprintf("payroll::f%06d@2026-11-21T03:00:00Z", n), Parent: parent})
	}
	s = operations.New(operations.Config{Ledger: crowd{runs: all}})
	if got, err := s.FindRun(t.Context(), stranger); err == nil {
		t.Errorf("among more members than are searched: %s, want an error that says so", got)
	}
}

func TestARunIsFoundByItsKeyInEveryForm(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	var runs []ledger.Run
	for n := range 2500 { // in the order of a listing: IDs descending
		runs = append(runs, ledger.Run{ID: jobs.RunID(fmt.Sprintf("job%04d", 9999-n), at), ScheduledAt: at})
	}
	wanted := runs[2400].ID
	reg := berlin(t)
	s := operations.New(operations.Config{Ledger: crowd{runs: runs}, Registry: func() (*jobs.Registry, error) { return reg, nil }})
	for _, form := range []jobs.KeyForm{jobs.KeyRunID, jobs.KeyUUID4, jobs.KeyUUID7, jobs.KeyHex32, jobs.KeyToken22, jobs.KeyToken64} {
		key := form.Of(wanted)
		for _, text := range []string{key, `"` + key + `"`, " " + key + "\n"} {
			if got, err := s.FindRun(t.Context(), text); err != nil || got != wanted {
				t.Errorf("%q: %s, %v; want %s", text, got, err, wanted)
			}
		}
		stranger := form.Of(jobs.RunID("stranger", at))
		if got, err := s.FindRun(t.Context(), stranger); err != nil || got != stranger {
			t.Errorf("the key of no run: %s, %v; want it back", got, err)
		}
	}
	for text, want := range map[string]string{
		"job1@2026-11-21T04:00:00+01:00": "job1@2026-11-21T03:00:00Z", "berlin::acme@2026-11-21 02:30": "berlin::acme@2026-11-21T01:30:00Z",
		"job1@2026-11-21 03:00": "", "twice@2026-10-25T02:30": "", "twice@2026-10-25T02:30:00+01:00": "twice@2026-10-25T01:30:00Z",
		"berlin@02:30": "berlin@02:30", "berlin@24h": "berlin@24h", "berlin@2026-11-21": "berlin@2026-11-21",
		"berlin@2026-11-21T02:30:00.5": "berlin@2026-11-21T02:30:00.5",
		"berlin@2026-11-21T02:30":      "berlin@2026-11-21T01:30:00Z", "'berlin@2026-07-21 02:30'": "berlin@2026-07-21T00:30:00Z",
		"berlin@2026-10-25 02:30":            "berlin@2026-10-25T00:30:00Z", // comes twice
		"berlin@2026-11-21T02:30:00+01:00~x": "berlin@2026-11-21T01:30:00Z~x", "berlin@yesterday": "berlin@yesterday",
	} {
		if got, err := s.FindRun(t.Context(), text); (err == nil) != (want != "") || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}
