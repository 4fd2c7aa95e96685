package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// Incidents returns a page of incidents; see ledger.IncidentFilter.
func (l *Ledger) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	var list []*ledger.Incident
	for _, i := range slices.Backward(l.incidents) {
		if (f.ID == 0 || f.ID == i.ID) && (f.JobID == "" || f.JobID == i.JobID) && (!f.Open || i.Open()) &&
			(!f.Due || !i.DueAt.IsZero() && !i.DueAt.After(now)) && (f.Before == 0 || i.ID < f.Before) {
			list = append(list, i)
		}
	}
	if f.Due {
		slices.SortFunc(list, func(a, b *ledger.Incident) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	}
	var page []ledger.Incident
	for _, i := range list[:min(len(list), f.PageSize())] {
		page = append(page, *i)
	}
	return page, nil
}
