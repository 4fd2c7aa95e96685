package memory

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) Pauses(after time.Time) ledger.Future[[]ledger.Pause] {
	return ledger.ResolvedFuture(filteredValues(t.l.pauses, func(p ledger.Pause) bool {
		return p.EndedAt.IsZero() || !after.IsZero() && p.Until.After(after)
	}), nil)
}

func (t *tx) LockPause(id int64) ledger.Future[[]ledger.Pause] {
	return ledger.ResolvedFuture(filteredValues(t.l.pauses, func(p ledger.Pause) bool { return p.ID == id }), nil)
}

func (t *tx) PutPause(p ledger.Pause) ledger.Future[int64] {
	if p.ID == 0 {
		setValue(t, &t.l.lastPause, t.l.lastPause+1)
		p.ID = t.l.lastPause
	}
	putEntry(t, t.l.pauses, p.ID, p)
	return ledger.ResolvedFuture(p.ID, nil)
}
