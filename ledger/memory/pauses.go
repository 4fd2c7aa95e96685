package memory

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Pauses returns the pauses that have no EndedAt, and those that end after a time.
func (t *tx) Pauses(after time.Time) ledger.Later[[]ledger.Pause] {
	return t.pausesWhere(func(p ledger.Pause) bool { return p.EndedAt.IsZero() || !after.IsZero() && p.Until.After(after) })
}

// LockPause returns a pause.
func (t *tx) LockPause(id int64) ledger.Later[[]ledger.Pause] {
	return t.pausesWhere(func(p ledger.Pause) bool { return p.ID == id })
}

func (t *tx) pausesWhere(of func(ledger.Pause) bool) ledger.Later[[]ledger.Pause] {
	var found []ledger.Pause
	for _, p := range t.l.pauses {
		if of(p) {
			found = append(found, p)
		}
	}
	return ledger.Known(found, nil)
}

// PutPause writes a pause.
func (t *tx) PutPause(p ledger.Pause) ledger.Later[int64] {
	before, last := slices.Clone(t.l.pauses), t.l.lastPause
	t.undo = append(t.undo, func() { t.l.pauses, t.l.lastPause = before, last })
	if p.ID == 0 {
		t.l.lastPause++
		p.ID = t.l.lastPause
		t.l.pauses = append(t.l.pauses, p)
		return ledger.Known(p.ID, nil)
	}
	for i := range t.l.pauses {
		if t.l.pauses[i].ID == p.ID {
			t.l.pauses[i] = p
		}
	}
	return ledger.Known(p.ID, nil)
}
