package sqltx

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

const findPauses = `SELECT id, kind, selector, from_at, until_at, by, why, created_at, ended_at FROM pauses WHERE `

func readPause(v Values) (p ledger.Pause, err error) {
	p.ID, p.Kind = v.Int(), ledger.PauseKind(v.Text())
	err = json.Unmarshal(v.Raw(), &p.Selector)
	p.From, p.Until, p.By, p.Why, p.CreatedAt, p.EndedAt = v.Time(), v.Time(), v.Text(), v.Text(), v.Time(), v.Time()
	return p, err
}

func (t Tx) Pauses(after time.Time) ledger.Future[[]ledger.Pause] {
	if after.IsZero() {
		return List(t, readPause, findPauses+`ended_at IS NULL ORDER BY id`)
	}
	return List(t, readPause, findPauses+`ended_at IS NULL OR until_at > $1 ORDER BY id`, after)
}

func (t Tx) LockPause(id int64) ledger.Future[[]ledger.Pause] {
	return List(t, readPause, findPauses+`id = $1`+t.Lock, id)
}

func (t Tx) PutPause(p ledger.Pause) ledger.Future[int64] {
	selector, err := json.Marshal(p.Selector)
	if err != nil {
		return ledger.ResolvedFuture[int64](0, fmt.Errorf("pause of %s: %w", p.Selector, err))
	}
	text := `
		INSERT INTO pauses (kind, selector, from_at, until_at, by, why, created_at, ended_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`
	args := []any{string(p.Kind), string(selector), p.From, p.Until, p.By, p.Why, p.CreatedAt, p.EndedAt}
	if p.ID != 0 {
		args = append(args, p.ID)
		text = `
			UPDATE pauses SET kind = $1, selector = $2, from_at = $3, until_at = $4, by = $5, why = $6, created_at = $7, ended_at = $8
			WHERE id = $9 RETURNING id`
	}
	return One(t, Number, text, args...)
}
