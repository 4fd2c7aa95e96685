package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

const findPauses = `SELECT id, kind, selector, from_at, until_at, by, why, created_at, ended_at FROM pauses WHERE `

func scanPause(row scanner) (p ledger.Pause, err error) {
	var selector string
	var from, until, created int64
	var ended nullTime
	if err = row.Scan(&p.ID, &p.Kind, &selector, &from, &until, &p.By, &p.Why, &created, &ended); err != nil {
		return p, err
	}
	p.From, p.Until, p.CreatedAt, p.EndedAt = at(from), at(until), at(created), ended.time()
	return p, json.Unmarshal([]byte(selector), &p.Selector)
}

func (t *tx) Pauses(after time.Time) ledger.Later[[]ledger.Pause] {
	if after.IsZero() {
		return ledger.Known(all(t, scanPause, findPauses+`ended_at IS NULL ORDER BY id`))
	}
	return ledger.Known(all(t, scanPause, findPauses+`ended_at IS NULL OR until_at > ? ORDER BY id`, after.UnixMicro()))
}

// LockPause returns a pause. The write lock protects it.
func (t *tx) LockPause(id int64) ledger.Later[[]ledger.Pause] {
	return ledger.Known(all(t, scanPause, findPauses+`id = ?`, id))
}

func (t *tx) PutPause(p ledger.Pause) ledger.Later[int64] {
	selector, err := json.Marshal(p.Selector)
	if err != nil {
		return ledger.Known[int64](0, fmt.Errorf("pause of %s: %w", p.Selector, err))
	}
	args := []any{string(p.Kind), string(selector), p.From.UnixMicro(), p.Until.UnixMicro(), p.By, p.Why, p.CreatedAt.UnixMicro(),
		micros(p.EndedAt)}
	if p.ID == 0 {
		_, err = t.one(`
			INSERT INTO pauses (kind, selector, from_at, until_at, by, why, created_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, args, &p.ID)
		return ledger.Known(p.ID, err)
	}
	_, err = t.exec(`
		UPDATE pauses SET kind = ?, selector = ?, from_at = ?, until_at = ?, by = ?, why = ?, created_at = ?, ended_at = ? WHERE id = ?`, append(args, p.ID)...)
	return ledger.Known(p.ID, err)
}
