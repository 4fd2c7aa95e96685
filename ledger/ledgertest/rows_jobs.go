package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var jobRowCases = []rowsCase{
	{"a change writes its fields of a job, and leaves the others", func(t *table) {
		ended := pastHour.Add(time.Minute)
		begun := ledger.JobRow{Position: ledger.Position{JobID: "j", Revision: 1, Watermark: pastHour}, Hash: "h", Body: []byte(`{}`)}
		t.putJob(ledger.JobChange{JobRow: begun, Set: ledger.JobColRevision})
		begun.Body = nil // Jobs leaves it out
		same(t, "new", t.job("j"), begun)
		for _, change := range []func(*ledger.JobRow){
			func(j *ledger.JobRow) { j.Watermark = pastHour.Add(time.Hour) },
			func(j *ledger.JobRow) { j.PausedAt, j.PausedBy, j.PausedWhy = pastHour, "me", "so" },
			func(j *ledger.JobRow) { j.Revision, j.Hash = 2, "h2" },
			func(j *ledger.JobRow) { j.PurgedThrough = pastHour },
			func(j *ledger.JobRow) { j.PausedAt, j.PausedBy, j.PausedWhy = time.Time{}, "", "" },
			func(j *ledger.JobRow) { j.EndedAt, j.Hash, j.Watermark = ended, "", pastHour.Add(2*time.Hour) },
			func(j *ledger.JobRow) { j.EndedAt, j.Revision, j.Hash = time.Time{}, 3, "h3" },
			func(j *ledger.JobRow) {
				j.Revision, j.Hash, j.Watermark, j.PurgedThrough = 4, "h4", pastHour.Add(3*time.Hour), pastHour.Add(time.Hour)
				j.PausedAt, j.PausedBy, j.PausedWhy = pastHour, "me", "so"
			},
		} {
			was := t.job("j")
			is := was
			change(&is)
			t.putJob(ledger.DiffJobs(was, is))
			same(t, "changed", t.job("j"), is)
		}
	}},
	{"jobs are returned by ID, and unknown ones are left out", func(t *table) {
		for _, id := range []string{"b", "a", "c"} {
			t.putJob(ledger.JobChange{JobRow: ledger.JobRow{Position: ledger.Position{JobID: id}, EndedAt: pastHour}, Set: ledger.JobColRevision})
		}
		jobs := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.JobRow] { return tx.LockJobs([]string{"b", "a", "unknown"}) })
		if len(jobs) != 2 || jobs[0].JobID != "a" || jobs[1].JobID != "b" {
			t.Errorf("%+v", jobs)
		}
	}},
}

func (t *table) putJob(c ledger.JobChange) {
	t.Helper()
	t.write(func(tx ledger.Tx) error {
		if _, err := tx.LockJobs([]string{c.JobID}).Get(); err != nil {
			return err
		}
		return tx.PutJobs([]ledger.JobChange{c})
	})
}

func (t *table) job(id string) ledger.JobRow {
	t.Helper()
	jobs := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.JobRow] { return tx.LockJobs([]string{id}) })
	if len(jobs) != 1 {
		t.Fatalf("job %s: %+v", id, jobs)
	}
	return jobs[0]
}

var incidentRowCases = []rowsCase{
	{"a new incident is added to the open one of its job and cause", func(t *table) {
		opened := incident("j", ledger.IncidentDead)
		t.putIncidents(opened, incident("k", ledger.IncidentDead), incident("j", ledger.IncidentLate))
		more := opened
		more.Reason, more.Error, more.RunID, more.Count = ledger.ReasonPermanent, "other", "j@2", 3
		more.LastAt, more.DueAt, more.OpenedAt = pastHour.Add(time.Minute), pastHour.Add(time.Hour), pastHour.Add(time.Minute)
		t.putIncidents(more)
		list := t.openIncidents(ledger.IncidentDead, "j")
		if len(list) != 1 {
			t.Fatalf("%+v", list)
		}
		opened.ID = list[0].ID
		opened.Add(more)
		same(t, "the open one", list[0], opened)

		opened.ClosedAt, opened.ClosedBy = pastHour, "j@3"
		t.putIncidents(opened)
		same(t, "the closed one", t.lastIncident("j"), opened)
		t.putIncidents(incident("j", ledger.IncidentDead))
		if last := t.lastIncident("j"); last.ID <= opened.ID || !last.Open() {
			t.Errorf("after a closed one: %+v", last)
		}
	}},
	{"open incidents are found by cause and jobs, by ID", func(t *table) {
		closed := incident("j", ledger.IncidentMissed)
		closed.ClosedAt = pastHour
		t.putIncidents(incident("k", ledger.IncidentDead), incident("j", ledger.IncidentDead), incident("j", ledger.IncidentLate), closed)
		for _, c := range []struct {
			cause ledger.IncidentCause
			jobs  []string
			want  int
		}{{"", nil, 3}, {"", []string{"j"}, 2}, {ledger.IncidentDead, nil, 2}, {ledger.IncidentDead, []string{"j", "l"}, 1},
			{ledger.IncidentMissed, nil, 0}} {
			list := t.openIncidents(c.cause, c.jobs...)
			if len(list) != c.want {
				t.Errorf("of %q and %v: %d, want %d", c.cause, c.jobs, len(list), c.want)
			}
			for i := range list {
				if i > 0 && list[i-1].ID >= list[i].ID {
					t.Errorf("not by ID: %+v", list)
				}
			}
		}
		one := t.openIncidents(ledger.IncidentLate)[0]
		locked := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Incident] { return tx.LockIncidents([]int64{one.ID, -1}) })
		same(t, "locked", locked, []ledger.Incident{one})
	}},
}

func incident(jobID string, cause ledger.IncidentCause) ledger.Incident {
	return ledger.Incident{
		JobID: jobID, Cause: cause, Reason: ledger.ReasonExhausted, Error: "e", RunID: jobID + "@1", Count: 1, OpenedAt: pastHour,
		LastAt: pastHour,
		DueAt:  pastHour, Version: 1, NotifierState: []byte("n"),
	}
}

func (t *table) putIncidents(list ...ledger.Incident) {
	t.Helper()
	t.write(func(tx ledger.Tx) error { return tx.PutIncidents(list) })
}

func (t *table) openIncidents(cause ledger.IncidentCause, jobs ...string) []ledger.Incident {
	t.Helper()
	return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Incident] { return tx.OpenIncidents(cause, jobs) })
}

// lastIncident returns the last incident of dead runs of a job.
func (t *table) lastIncident(jobID string) ledger.Incident {
	t.Helper()
	last := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Incident] {
		return tx.LockLastIncidents(ledger.IncidentDead, []string{jobID, "unknown"})
	})
	if len(last) != 1 {
		t.Fatalf("%+v", last)
	}
	return last[0]
}
