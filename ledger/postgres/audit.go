package postgres

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) AddEvents(list []ledger.Event) error {
	column := func(field func(*ledger.Event) string) []string {
		return mapN(len(list), func(i int) string { return field(&list[i]) })
	}
	return t.Exec(`INSERT INTO events (job_id, at, kind, local, zone) SELECT u.* FROM unnest($1, $2, $3, $4, $5) AS u`,
		column(func(e *ledger.Event) string { return e.JobID }), mapN(len(list), func(i int) time.Time { return list[i].At }),
		column(func(e *ledger.Event) string { return string(e.Kind) }), column(func(e *ledger.Event) string { return e.Local }),
		column(func(e *ledger.Event) string { return e.Zone }))
}

func (t *tx) AddAudit(list []ledger.Audit) error {
	column := func(field func(*ledger.Audit) string) []string {
		return mapN(len(list), func(i int) string { return field(&list[i]) })
	}
	kept := make([]ledger.KeptRequest, len(list))
	for i := range list {
		if k := list[i].Kept; k != nil {
			kept[i] = *k
		}
	}
	return t.Exec(`
		INSERT INTO audit (at, count, act, job_id, run_id, rerun_id, by, why, via, series, about, principal, request_key, fingerprint, answer)
		SELECT now(), u.count, u.act, u.job_id, u.run_id, u.rerun_id, u.by, u.why, u.via, u.series, u.about, u.principal,
			nullif(u.request_key, ''), u.fingerprint, u.answer
		FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			AS u (count, act, job_id, run_id, rerun_id, by, why, via, series, about, principal, request_key, fingerprint, answer)`,
		mapN(len(list), func(i int) int64 { return int64(list[i].Count) }), column(func(a *ledger.Audit) string { return string(a.Action) }),
		column(func(a *ledger.Audit) string { return a.JobID }), column(func(a *ledger.Audit) string { return a.RunID }),
		column(func(a *ledger.Audit) string { return a.RerunID }), column(func(a *ledger.Audit) string { return a.By }),
		column(func(a *ledger.Audit) string { return a.Why }), column(func(a *ledger.Audit) string { return string(a.Via) }),
		column(func(a *ledger.Audit) string { return a.Series }), column(func(a *ledger.Audit) string { return a.About }),
		mapN(len(kept), func(i int) string { return kept[i].Principal }), mapN(len(kept), func(i int) string { return kept[i].Key }),
		mapN(len(kept), func(i int) string { return kept[i].Fingerprint }),
		mapN(len(kept), func(i int) []byte { return kept[i].Answer }))
}
