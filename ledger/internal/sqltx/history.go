package sqltx

import "github.com/cronce/cronce/ledger"

// OldRun is the condition of ledger.OldRuns, whose parameters, OldRunArgs, are the first four. The
// time bounds the scan of the index by scheduled_at: what is read and kept there is what finished
// long after its time, or is dead and kept longer.
const OldRun = `scheduled_at <= $1 AND (
	finished_at <= $2 AND NOT (state = $3 AND acked_at IS NULL) OR finished_at <= $4 AND state = $3 AND acked_at IS NULL)`

// OldRunArgs returns the parameters of OldRun, and more.
func OldRunArgs(q ledger.OldRuns, more ...any) []any {
	return append([]any{q.Scheduled, q.Finished, string(q.UnacknowledgedState), q.UnacknowledgedFinished}, more...)
}

// OldKind returns the table of a kind of old rows, its key, and the time that counts.
func (t Tx) OldKind(kind ledger.HistoryKind) (table, key, at string) {
	k := [...][3]string{
		ledger.AuditRows: {"audit", "id", "at"}, ledger.EventRows: {"events", "id", "at"}, ledger.PauseRows: {"pauses", "id", "until_at"},
		ledger.IncidentRows: {"incidents", "id", "closed_at"}, ledger.ProcessRows: {"processes", "process", t.Dialect.HeartbeatAt},
		ledger.ExcerptRows: {"excerpts", "run_id, n", "keep_until"},
	}[kind]
	return k[0], k[1], k[2]
}

// ReadOldDefinition reads a definition's key, when the next of its job was declared, and the job's
// revision, hash and end.
func ReadOldDefinition(v Values) (d ledger.OldDefinition, err error) {
	d.JobID, d.Hash, d.NextAt, d.Revision, d.Current, d.EndedAt = v.Text(), v.Text(), v.Time(), v.Int(), v.Text(), v.Time()
	return d, nil
}
