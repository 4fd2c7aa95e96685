package sqlite

// A transaction that frees a slot gives it to the next waiting run. So the slot is
// taken whenever runs wait, and no new run can overtake them.

// promote gives the job's slot, if it is free, to the oldest run that waits.
func (t *tx) promote(jobID string) error {
	_, err := t.exec(`
		UPDATE runs SET changed = ?2, waiting = 0, slot = job_id
		WHERE id = (SELECT id FROM runs WHERE waiting = 1 AND job_id = ?1 ORDER BY scheduled_at LIMIT 1)
		  AND NOT EXISTS (SELECT 1 FROM runs WHERE slot = ?1)`, jobID, t.change)
	return err
}

// promoteAfter gives the slots that these runs have released to waiting runs. If no
// run waits, which is usual, it costs one look-up.
func (t *tx) promoteAfter(runIDs []string) error {
	if len(runIDs) == 0 {
		return nil
	}
	var waits bool
	if _, err := t.one(`SELECT EXISTS (SELECT 1 FROM runs WHERE waiting = 1)`, nil, &waits); err != nil || !waits {
		return err
	}
	done := map[string]bool{}
	for _, id := range runIDs {
		var job string
		if _, err := t.one(`SELECT job_id FROM runs WHERE run_id = ?`, []any{id}, &job); err != nil {
			return err
		}
		if done[job] {
			continue
		}
		done[job] = true
		if err := t.promote(job); err != nil {
			return err
		}
	}
	return nil
}
