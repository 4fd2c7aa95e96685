package simulate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Broken parts of what opens, closes and tells incidents.

// deaf loses incidents: what opened them died after the record and before the
// opening, which was not in its transaction.
type deaf struct{ ledger.Store }

func (d deaf) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	list, err := d.Store.Incidents(ctx, f)
	return slices.DeleteFunc(list, func(i ledger.Incident) bool { return i.ID%5 == 0 }), err
}

// grudge never closes what it opened.
type grudge struct{ ledger.Store }

func (g grudge) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	list, err := g.Store.Incidents(ctx, ledger.IncidentFilter{ID: f.ID, JobID: f.JobID, Due: f.Due, Before: f.Before, Limit: f.Limit})
	for n := range list {
		if !list[n].ClosedByOperator {
			list[n].ClosedAt, list[n].ClosedBy = time.Time{}, ""
		}
	}
	return slices.DeleteFunc(list, func(i ledger.Incident) bool { return f.Open && !i.Open() }), err
}

// splitting opens another incident for each problem.
type splitting struct{ ledger.Store }

func (s splitting) Incidents(ctx context.Context, f ledger.IncidentFilter) (split []ledger.Incident, err error) {
	list, err := s.Store.Incidents(ctx, f)
	for _, i := range list {
		split = append(split, i)
		if f.Open && i.Count > 1 {
			i.ID += 1_000_000
			split = append(split, i)
		}
	}
	return split, err
}

func (s splitting) AckIncident(ctx context.Context, a ledger.IncidentAction) (ledger.Incident, error) {
	a.ID %= 1_000_000
	return s.Store.AckIncident(ctx, a)
}

// counting counts a problem again when its record is repeated.
type counting struct{ ledger.Store }

func (c counting) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	list, err := c.Store.Incidents(ctx, f)
	for n := range list {
		list[n].Count += list[n].Count / 3
	}
	return list, err
}

// telling changes what is told.
type telling struct {
	ledger.Store
	change func(context.Context, ledger.Store, *ledger.Notification) error
}

func (t telling) Notify(ctx context.Context, told ledger.Notification) (bool, error) {
	told.Runs = slices.Clone(told.Runs)
	if err := t.change(ctx, t.Store, &told); err != nil {
		return false, err
	}
	return t.Store.Notify(ctx, told)
}

// forgetting loses notifications that it has kept as told.
func forgetting(_ context.Context, _ ledger.Store, t *ledger.Notification) error {
	t.Runs = nil
	return nil
}

// heedless tells what another notifier has told, or what is over.
func heedless(ctx context.Context, s ledger.Store, t *ledger.Notification) error {
	list, err := s.Incidents(ctx, ledger.IncidentFilter{ID: t.ID})
	if err == nil && len(list) > 0 {
		t.Version = list[0].Version
	}
	return err
}

// unreminding never looks at what it told again.
func unreminding(_ context.Context, _ ledger.Store, t *ledger.Notification) error {
	t.DueAt = time.Time{}
	return nil
}

// again is a notification under another key.
func again(e ledger.Entry, job string) ledger.Entry {
	at := e.ScheduledAt.Add(-time.Second)
	_, token, _ := strings.Cut(e.RunID, "~")
	e.RunID, e.JobID, e.ScheduledAt = jobs.RunIDWithToken(job, at, token), job, at
	return e
}

// doubling tells everything twice, under two keys.
func doubling(_ context.Context, _ ledger.Store, t *ledger.Notification) error {
	for _, e := range slices.Clone(t.Runs) {
		t.Runs = append(t.Runs, again(e, e.JobID))
	}
	return nil
}

// echoing tells a channel of its own failures too: each failure is then a
// notification that may fail.
func echoing(ctx context.Context, s ledger.Store, t *ledger.Notification) error {
	list, err := s.Incidents(ctx, ledger.IncidentFilter{ID: t.ID})
	if err != nil || len(list) == 0 || !strings.HasPrefix(list[0].JobID, "notify-") || len(t.Runs) == 0 {
		return err
	}
	e := again(t.Runs[0], list[0].JobID)
	e.Call.Target = fmt.Sprintf("notify:%s", strings.TrimPrefix(e.JobID, "notify-"))
	t.Runs = append(t.Runs, e)
	return nil
}
