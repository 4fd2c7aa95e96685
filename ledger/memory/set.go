package memory

import "github.com/cronce/cronce/ledger"

// fields copies the fields of each of ledger.Columns.
var fields = []struct {
	of   ledger.Columns
	copy func(to, from *ledger.Row)
}{
	{ledger.ColState, func(to, from *ledger.Row) { to.State, to.Reason = from.State, from.Reason }},
	{ledger.ColCall, func(to, from *ledger.Row) { to.Call = from.Call }},
	{ledger.ColPlan, func(to, from *ledger.Row) { to.Trigger, to.TakesSlot = from.Trigger, from.TakesSlot }},
	{ledger.ColCount, func(to, from *ledger.Row) { to.Count = from.Count }},
	{ledger.ColAttempt, func(to, from *ledger.Row) { to.Attempt = from.Attempt }},
	{ledger.ColFailures, func(to, from *ledger.Row) { to.Failures = from.Failures }},
	{ledger.ColReplayed, func(to, from *ledger.Row) { to.Replayed = from.Replayed }},
	{ledger.ColStatus, func(to, from *ledger.Row) { to.Status = from.Status }},
	{ledger.ColDue, func(to, from *ledger.Row) { to.DueAt = from.DueAt }},
	{ledger.ColSlot, func(to, from *ledger.Row) { to.Waiting, to.HasSlot = from.Waiting, from.HasSlot }},
	{ledger.ColWait, func(to, from *ledger.Row) { to.WaitReason = from.WaitReason }},
	{ledger.ColAccepted, func(to, from *ledger.Row) { to.AcceptedAt = from.AcceptedAt }},
	{ledger.ColProgress, func(to, from *ledger.Row) { to.Progress = from.Progress }},
	{ledger.ColLease, func(to, from *ledger.Row) {
		to.Holder, to.LeasedAt, to.Token = from.Holder, from.LeasedAt, from.Token
	}},
	{ledger.ColStart, func(to, from *ledger.Row) { to.StartedAt, to.SendBefore = from.StartedAt, from.SendBefore }},
	{ledger.ColFinished, func(to, from *ledger.Row) { to.FinishedAt = from.FinishedAt }},
	{ledger.ColAcked, func(to, from *ledger.Row) { to.AckedAt = from.AckedAt }},
	{ledger.ColLate, func(to, from *ledger.Row) { to.LateAt = from.LateAt }},
	{ledger.ColRerun, func(to, from *ledger.Row) { to.RerunID = from.RerunID }},
	{ledger.ColActor, func(to, from *ledger.Row) { to.By, to.Why = from.By, from.Why }},
}

// set copies the fields that a change writes.
func set(r *ledger.Row, c *ledger.Change) {
	for _, f := range fields {
		if c.Set&f.of != 0 {
			f.copy(r, &c.Row)
		}
	}
}
