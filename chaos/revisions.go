package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
)

// A job has revisions (in the ledger); the processes are deployments of a registry,
// which has numbered versions here. The database records each begin and end of a
// revision with its scheduled time, and the harness knows the schedule of each
// definition. Nothing is inferred from rows, so a revision without rows is checked
// like any other.
//
// While processes of two deployments run, the heartbeats that have arrived decide
// which definition wins. That cannot be observed from outside, so the harness
// requires only the following:
//
//   - a revision has a definition of some deployment, and begins no earlier than the
//     first process that declares it was started;
//   - a job ends no earlier than the first process that does not declare it was
//     started;
//   - a job that every deployment declares always has a revision;
//   - the ledger's events describe the same revisions;
//   - every run belongs to the revision that its scheduled time lies in, and sends
//     that revision's body;
//   - once all faults have ended and all processes are of one deployment, each job
//     gets that deployment's definition, or ends (await).
const (
	Undeclared  proof.Rule = "a revision has a definition that no process declared"
	Retroactive proof.Rule = "a definition was current before a process declared it"
	Foreign     proof.Rule = "a run has another definition than its scheduled time"
	Misdated    proof.Rule = "the ledger's events differ from the revisions"
)

// revision is a revision with the numbers that its runs must have.
type revision struct {
	proof.Revision
	number   int64
	revision int
}

// revisionsOf derives the revisions from the turns. A revision that has not ended
// extends to its job's watermark.
func revisionsOf(turns []turn, d *deployments, watermarks map[string]time.Time) (list []revision, found []proof.Violation) {
	for i, t := range turns {
		spec, ours := specOf(t.jobID)
		if !ours {
			continue // the purge, which is not due in the time
		}
		def, known := d.known[t.jobID+" "+t.hash]
		name := fmt.Sprintf("%s, revision %d", t.jobID, t.revision)
		switch {
		case t.ended && spec.kind == seasonal && !d.without[t.jobID].IsZero() && !t.at.Before(d.without[t.jobID]):
		case t.ended:
			found = append(found, proof.Violation{Rule: proof.Dropped, Of: name, What: "at " + t.at.String()})
		case !known:
			found = append(found, proof.Violation{Rule: Undeclared, Of: name, What: t.hash})
		case t.at.Before(def.since):
			found = append(found, proof.Violation{Rule: Retroactive, Of: name,
				What: fmt.Sprintf("from %s, deployment %d was first started at %s", t.at, def.revision, def.since.UTC())})
		}
		if t.ended || !known {
			continue
		}
		e := revision{proof.Revision{JobID: t.jobID, Schedule: def.job.ParsedSchedule(), From: t.at, To: watermarks[t.jobID], Open: true},
			t.revision, def.revision}
		if i+1 < len(turns) && turns[i+1].jobID == t.jobID {
			e.To, e.Open = turns[i+1].at, false
		}
		list = append(list, e)
	}
	return list, found
}

// foreign finds runs that do not belong to the revision that their scheduled time lies
// in. Runs that a platform's event made first have the function's registry.
func foreign(rows []ledger.Run, list []revision, given map[string]bool) (found []proof.Violation, err error) {
	of := map[string][]revision{}
	for _, e := range list {
		of[e.JobID] = append(of[e.JobID], e)
	}
	for _, r := range rows {
		if given[r.ID] || ledger.IsAdHoc(r.ID) || len(r.Call.Body) == 0 {
			continue
		}
		var body struct{ Revision int }
		if err := json.Unmarshal(r.Call.Body, &body); err != nil {
			return nil, fmt.Errorf("the frozen body of %s: %w", r.ID, err)
		}
		for _, e := range of[r.JobID] {
			inside := r.ScheduledAt.After(e.From) && (e.Open || !r.ScheduledAt.After(e.To))
			if inside && (r.Revision != e.number || body.Revision != e.revision) {
				found = append(found, proof.Violation{Rule: Foreign, Of: r.ID, What: fmt.Sprintf(
					"of revision %d and deployment %d, its scheduled time's are %d and %d", r.Revision, body.Revision, e.number, e.revision)})
			}
		}
	}
	return found, nil
}

// misdated compares the ledger's events of a job's revisions, newest first, with its
// turns. An edit is two events: an end and a beginning.
func misdated(jobID string, turns []turn, events []ledger.Event) (found []proof.Violation) {
	var was, told []string
	current := false
	for _, t := range turns {
		if t.jobID != jobID {
			continue
		}
		if current {
			was = append(was, fmt.Sprint(ledger.EventRevisionEnded, " ", t.at.UTC()))
		}
		if current = !t.ended; current {
			was = append(was, fmt.Sprint(ledger.EventRevisionBegun, " ", t.at.UTC()))
		}
	}
	for _, e := range slices.Backward(events) {
		if e.Kind == ledger.EventRevisionBegun || e.Kind == ledger.EventRevisionEnded {
			told = append(told, fmt.Sprint(e.Kind, " ", e.At.UTC()))
		}
	}
	if !slices.Equal(was, told) {
		found = append(found, proof.Violation{Rule: Misdated, Of: jobID, What: fmt.Sprintf("it was %v, the events are %v", was, told)})
	}
	return found
}

// always lists the jobs that every deployment declares.
func always() (ids []string) {
	for _, s := range specs {
		if s.kind != seasonal {
			ids = append(ids, s.id)
		}
	}
	return ids
}
