package ledger

import (
	"fmt"
	"slices"
)

// RowChange writes some fields of one row.
type RowChange struct {
	Row *Row    // the ID, and the new values
	Set Columns // what is written
	// From is the state that the row must be in, and LeasedAs, if it is not "", the token
	// that it must be leased under; else the row stays as it is.
	From     State
	LeasedAs string
	Attempt  *Attempt // added to the run's history, under the row's ID; nil: none
	// Unlisted marks a change that no listing shows: Changes does not return it.
	Unlisted bool
}

// DiffRows returns the change that makes a row, as it was read, what it is now. It does not
// compare calls, which are large and frozen: a backfill, which replaces one, adds ColCall.
func DiffRows(old, updated *Row) RowChange {
	c := RowChange{Row: updated, From: old.State}
	for i := range columns {
		if !columns[i].same(old, updated) {
			c.Set |= columns[i].of
		}
	}
	return c
}

// Apply writes the fields of a change into a row that an engine keeps.
func (c *RowChange) Apply(to *Row) {
	for i := range columns {
		if c.Set&columns[i].of != 0 {
			columns[i].copy(to, c.Row)
		}
	}
}

// CheckAllWritten returns the error of an Update by an engine that writes it as an UpdateFenced: nil if
// that has written all.
func CheckAllWritten(changes []RowChange, writtenFuture Future[[]bool]) error {
	updated, err := writtenFuture.Get()
	if i := slices.Index(updated, false); i >= 0 && err == nil {
		return fmt.Errorf("run %s changed although it is locked; this is a defect of cronce, please report it", changes[i].Row.ID)
	}
	return err
}

// Columns is a set of groups of a Row's fields. An engine writes the fields of a group
// together.
type Columns uint32

// The groups of the fields that change.
const (
	ColState Columns = 1 << iota // State and Reason
	ColCall                      // Call
	ColPlan                      // Trigger, TakesSlot and Pace
	ColCount
	ColAttempt
	ColFailures
	ColReplayed
	ColStatus
	ColDue  // DueAt
	ColSlot // Waiting and HasSlot
	ColWait // WaitReason
	ColAccepted
	ColProgress
	ColLease // LeasedBy, LeasedAt and Token
	ColStart // StartedAt, SendBefore and KeySafeUntil
	ColFinished
	ColAcked
	ColLate
	ColRerun
	ColActor // By and Why
	ColFan
)

// columns are the groups: each says whether two rows have the same values, and copies
// them. The fields that are in no group never change.
var columns = []struct {
	of   Columns
	same func(a, b *Row) bool
	copy func(to, from *Row)
}{
	{ColState, func(a, b *Row) bool { return a.State == b.State && a.Reason == b.Reason },
		func(to, from *Row) {
			due := to.DueAt()
			to.State, to.Reason = from.State, from.Reason
			to.SetDueAt(due)
		}},
	{ColCall, func(_, _ *Row) bool { return true }, func(to, from *Row) { to.Call = from.Call }},
	{ColPlan, func(a, b *Row) bool {
		return a.Trigger == b.Trigger && a.TakesSlot == b.TakesSlot && a.Pace == b.Pace
	},
		func(to, from *Row) { to.Trigger, to.TakesSlot, to.Pace = from.Trigger, from.TakesSlot, from.Pace }},
	{ColCount, func(a, b *Row) bool { return a.Count == b.Count }, func(to, from *Row) { to.Count = from.Count }},
	{ColAttempt, func(a, b *Row) bool { return a.Attempt == b.Attempt }, func(to, from *Row) { to.Attempt = from.Attempt }},
	{ColFailures, func(a, b *Row) bool { return a.Failures == b.Failures }, func(to, from *Row) { to.Failures = from.Failures }},
	{ColReplayed, func(a, b *Row) bool { return a.Replayed == b.Replayed }, func(to, from *Row) { to.Replayed = from.Replayed }},
	{ColStatus, func(a, b *Row) bool { return a.Status == b.Status }, func(to, from *Row) { to.Status = from.Status }},
	{ColDue, func(a, b *Row) bool { return a.DueAt().Equal(b.DueAt()) }, func(to, from *Row) { to.SetDueAt(from.DueAt()) }},
	{ColSlot, func(a, b *Row) bool { return a.Waiting == b.Waiting && a.HasSlot == b.HasSlot },
		func(to, from *Row) { to.Waiting, to.HasSlot = from.Waiting, from.HasSlot }},
	{ColWait, func(a, b *Row) bool { return a.WaitReason == b.WaitReason }, func(to, from *Row) { to.WaitReason = from.WaitReason }},
	{ColAccepted, func(a, b *Row) bool { return a.AcceptedAt.Equal(b.AcceptedAt) }, func(to, from *Row) { to.AcceptedAt = from.AcceptedAt }},
	{ColProgress, func(a, b *Row) bool { return a.Progress == b.Progress }, func(to, from *Row) { to.Progress = from.Progress }},
	{ColLease, func(a, b *Row) bool {
		return a.LeasedBy == b.LeasedBy && a.LeasedAt.Equal(b.LeasedAt) && a.Token == b.Token
	},
		func(to, from *Row) { to.LeasedBy, to.LeasedAt, to.Token = from.LeasedBy, from.LeasedAt, from.Token }},
	{ColStart, func(a, b *Row) bool {
		return a.StartedAt.Equal(b.StartedAt) && a.SendBefore.Equal(b.SendBefore) && a.KeySafeUntil.Equal(b.KeySafeUntil)
	},
		func(to, from *Row) {
			to.StartedAt, to.SendBefore, to.KeySafeUntil = from.StartedAt, from.SendBefore, from.KeySafeUntil
		}},
	{ColFinished, func(a, b *Row) bool { return a.FinishedAt.Equal(b.FinishedAt) }, func(to, from *Row) { to.FinishedAt = from.FinishedAt }},
	{ColAcked, func(a, b *Row) bool { return a.AckedAt.Equal(b.AckedAt) }, func(to, from *Row) { to.AckedAt = from.AckedAt }},
	{ColLate, func(a, b *Row) bool { return a.LateAt.Equal(b.LateAt) }, func(to, from *Row) { to.LateAt = from.LateAt }},
	{ColRerun, func(a, b *Row) bool { return a.RerunID == b.RerunID }, func(to, from *Row) { to.RerunID = from.RerunID }},
	{ColActor, func(a, b *Row) bool { return a.By == b.By && a.Why == b.Why }, func(to, from *Row) { to.By, to.Why = from.By, from.Why }},
	{ColFan, func(a, b *Row) bool { return a.Fan == b.Fan }, func(to, from *Row) { to.Fan = from.Fan }},
}
