package ledgerrules

import "github.com/cronce/cronce/ledger"

// EntryAction returns the kind of action that made the entry's run, "" for a run that
// no operator made.
func EntryAction(e ledger.Entry) ledger.ActionKind {
	switch e.Trigger {
	case ledger.ByOperator:
		return ledger.ActionTrigger
	case ledger.ByRerun:
		return ledger.ActionRerun
	}
	return ""
}

// EntryAudit returns the audit entry that a store writes with the entry's run.
func EntryAudit(e ledger.Entry) ledger.Audit {
	a := ledger.Audit{Action: EntryAction(e), JobID: e.JobID, RunID: e.RunID, Actor: e.Actor}
	if e.RerunOf != "" {
		a.RunID, a.RerunID = e.RerunOf, e.RunID
	}
	return a
}

// IncidentAudit returns the audit entry of an action that changed the incident.
func IncidentAudit(a ledger.IncidentAction, i ledger.Incident) ledger.Audit {
	entry := ledger.Audit{Action: ledger.ActionAckIncident, JobID: i.JobID, Actor: a.Actor}
	if a.Close {
		entry.Action = ledger.ActionCloseIncident
	}
	return entry
}
