package sqlite

import (
	"github.com/cronce/cronce/ledger"
)

func (t *tx) AddEvents(list []ledger.Event) error {
	for _, e := range list {
		if err := t.Exec(`INSERT INTO events (job_id, at, kind, local, zone) VALUES (?, ?, ?, ?, ?)`,
			e.JobID, e.At, string(e.Kind), e.Local, e.Zone); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) AddAudit(list []ledger.Audit) error {
	for _, a := range list {
		var key, answer any
		var kept ledger.KeptRequest
		if a.Kept != nil {
			kept = *a.Kept
			key, answer = kept.Key, blob(kept.Answer)
		}
		err := t.Exec(`
			INSERT INTO audit (at, act, job_id, run_id, rerun_id, by, why, via, request, count, series, principal, request_key, fingerprint, answer, about)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?)`,
			t.now, string(a.Action), a.JobID, a.RunID, a.RerunID, a.By, a.Why, string(a.Via), a.Count, a.Series, kept.Principal, key,
			kept.Fingerprint, answer, a.About)
		switch {
		case key != nil && notUnique(err):
			return ledger.ErrRepeated
		case err != nil:
			return err
		}
	}
	return nil
}
