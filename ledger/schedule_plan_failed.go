package ledger

import "github.com/cronce/cronce/internal/clocks"

// openFailedIncident opens one incident of the template for all schedules that could not be
// planned, or notes that they still cannot.
func (m *schedulePlanTx) openFailedIncident() error {
	if len(m.failed) == 0 {
		return nil
	}
	uncounted, err := m.countFailing()
	if err != nil {
		return err
	}
	last := m.failed[len(m.failed)-1]
	return openIncidents(m.admission.tx, IncidentUnplanned, []problem{{
		JobID: m.template, Reason: ReasonNotPlannable, Count: uncounted,
		Error: "the schedule " + last.JobID + " cannot be planned: " + last.Err.Error(),
	}}, m.admission.got.Now)
}

// countFailing returns how many of the failing schedules the incident does not count yet: for as
// long as a schedule fails, it counts once. Batches count one after the other.
func (m *schedulePlanTx) countFailing() (uncounted int, err error) {
	tx, now := m.admission.tx, m.admission.got.Now
	if _, err := tx.LockTemplate(m.template).Get(); err != nil {
		return 0, err
	}
	last, err := tx.LockLastIncidents(IncidentUnplanned, []string{m.template}).Get()
	if err != nil {
		return 0, err
	}
	opened := now
	for _, i := range last {
		if i.TakesProblem(now) {
			opened = i.OpenedAt
		}
	}
	var updates []ScheduleUpdate
	for _, s := range m.failing {
		if since := clocks.Later(opened, s.Watermark); s.FailedAt.Before(since) {
			s.FailedAt = clocks.Later(now, since)
			updates = append(updates, ScheduleUpdate{s, ScheduleColFailure})
		}
	}
	if len(updates) == 0 {
		return 0, nil
	}
	return len(updates), tx.UpdateSchedules(updates)
}
