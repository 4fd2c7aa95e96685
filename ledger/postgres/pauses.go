package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

const findPauses = `SELECT id, kind, selector, from_at, until_at, by, why, created_at, ended_at FROM pauses WHERE `

func readPause(v *values) (p ledger.Pause, err error) {
	p.ID, p.Kind = v.int(), ledger.PauseKind(v.text())
	err = json.Unmarshal(v.bytes(), &p.Selector)
	p.From, p.Until, p.By, p.Why, p.CreatedAt, p.EndedAt = v.time(), v.time(), v.text(), v.text(), v.time(), v.time()
	return p, err
}

func (t *tx) Pauses(after time.Time) ledger.Later[[]ledger.Pause] {
	if after.IsZero() {
		return ask(t, query{sql: findPauses + `ended_at IS NULL ORDER BY id`}, readPause)
	}
	q := query{sql: findPauses + `ended_at IS NULL OR until_at > $1 ORDER BY id`}
	q.args.time(after)
	return ask(t, q, readPause)
}

func (t *tx) LockPause(id int64) ledger.Later[[]ledger.Pause] {
	q := query{sql: findPauses + `id = $1` + t.forUpdate()}
	q.args.int8(id)
	return ask(t, q, readPause)
}

func (t *tx) PutPause(p ledger.Pause) ledger.Later[int64] {
	selector, err := json.Marshal(p.Selector)
	if err != nil {
		return ledger.Known[int64](0, fmt.Errorf("pause of %s: %w", p.Selector, err))
	}
	q := query{sql: `
		INSERT INTO pauses (kind, selector, from_at, until_at, by, why, created_at, ended_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`}
	a := &q.args
	a.text(string(p.Kind))
	a.text(string(selector))
	a.time(p.From)
	a.time(p.Until)
	a.text(p.By)
	a.text(p.Why)
	a.time(p.CreatedAt)
	a.time(p.EndedAt)
	if p.ID != 0 {
		q.sql = `
			UPDATE pauses SET kind = $1, selector = $2, from_at = $3, until_at = $4, by = $5, why = $6, created_at = $7, ended_at = $8
			WHERE id = $9 RETURNING id`
		a.int8(p.ID)
	}
	return one(ask(t, q, func(v *values) (int64, error) { return v.int(), nil }))
}
