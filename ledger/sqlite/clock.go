package sqlite

import (
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// isAlive is the rule of ledger.IsAlive; ?1 is now.
var isAlive = fmt.Sprintf(`beat_at BETWEEN ?1 - %[1]d AND ?1 + %[1]d`, ledger.ProcessTTL.Microseconds())

// What tells that the clock was set back. See ledger.ClockStep.
const (
	latestHeartbeat = `SELECT max(beat_at) FROM processes`
	latestLease     = `SELECT max(at) FROM (
		SELECT beat_at AS at FROM processes UNION ALL SELECT leased_at FROM runs WHERE due_at IS NOT NULL AND waiting = 0)`
)

// followClock moves what is in progress if the clock was set back since a time.
func (t *tx) followClock(since string) error {
	var latest nullTime
	if _, err := t.one(since, nil, &latest); err != nil {
		return err
	}
	step, ttl := ledger.ClockStep(latest.time(), at(t.now)).Microseconds(), ledger.ProcessTTL.Microseconds()
	if step == 0 {
		return nil
	}
	for _, move := range []struct {
		text string
		args []any
	}{
		{`UPDATE processes SET beat_at = ?1 WHERE beat_at > ?1`, []any{t.now}},
		{`UPDATE incidents SET due_at = due_at - ? WHERE due_at IS NOT NULL`, []any{step}},
		{`UPDATE runs SET changed = ?1, due_at = min(due_at, max(due_at - ?2, ?3 + ?4))
			WHERE due_at IS NOT NULL AND (planned_at > ?3 OR leased_at > ?3 OR due_at > ?3 + ?2)
				AND (started_at IS NOT NULL OR scheduled_at <= ?3 OR instr(run_id, '~'))`, []any{t.change, step, t.now, ttl}},
		{`UPDATE runs SET leased_at = ?1 WHERE due_at IS NOT NULL AND leased_at > ?1`, []any{t.now}},
		{`UPDATE runs SET changed = ?1, send_before = send_before - ?2, key_safe_until = key_safe_until - ?2
			WHERE (due_at IS NOT NULL OR state = 'dead') AND (started_at > ?3 OR started_at <= ?3 - ?4)`,
			[]any{t.change, step, t.now, ttl}},
	} {
		if _, err := t.exec(move.text, move.args...); err != nil {
			return err
		}
	}
	return nil
}
