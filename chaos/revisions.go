package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
)

// The revisions of a job are exact: the database notes each turn with the scheduled time
// at which it is made, and the harness knows the schedule that each definition
// has. Nothing is inferred from rows, so a revision without rows is checked like
// any other.
//
// What cannot be told from outside is which of two revisions is to win at a
// moment at which processes of both are running, for that depends on whose
// heartbeats have arrived. Of this the harness asks no more, and no less, than:
//
//   - a revision stands on a definition that some revision has, and begins no
//     earlier than the first process was started that declares it;
//   - a job ends no earlier than the first process was started that does not
//     declare it;
//   - a job that every revision has is never without a revision;
//   - the ledger's own events tell of the same revisions;
//   - every run is of the revision that its scheduled time lies in, and sends that
//     revision's body;
//   - once nothing is broken any more and all processes are of one revision,
//     each job comes to stand on that revision's definition, or to end (await).
const (
	Undeclared  proof.Rule = "a revision stands on a definition that nobody had"
	Retroactive proof.Rule = "a definition was current before anybody had it"
	Foreign     proof.Rule = "a run is of another definition than its scheduled time's"
	Misdated    proof.Rule = "the ledger tells an operator of a revision otherwise than it was"
)

// revision is a revision with what its runs must show.
type revision struct {
	proof.Revision
	number   int64
	revision int
}

// revisionsOf makes the revisions out of the turns. Those that have not ended reach
// up to their jobs' watermarks.
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
				What: fmt.Sprintf("from %s, revision %d was first started at %s", t.at, def.revision, def.since.UTC())})
		}
		if t.ended || !known {
			continue
		}
		e := revision{proof.Revision{JobID: t.jobID, Schedule: def.job.Parsed(), From: t.at, To: watermarks[t.jobID], Open: true}, t.revision, def.revision}
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
		if given[r.ID] || ledger.AdHoc(r.ID) || len(r.Call.Body) == 0 {
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
					"of revision %d and revision %d, its scheduled time's are %d and %d", r.Revision, body.Revision, e.number, e.revision)})
			}
		}
	}
	return found, nil
}

// misdated compares what the ledger tells of a job's revisions, newest first, with
// its turns. It tells of an edit as an end and a beginning.
func misdated(jobID string, turns []turn, events []ledger.Event) (found []proof.Violation) {
	var was, told []string
	current := false
	for _, t := range turns {
		if t.jobID != jobID {
			continue
		}
		if current {
			was = append(was, fmt.Sprint(ledger.RevisionEnded, " ", t.at.UTC()))
		}
		if current = !t.ended; current {
			was = append(was, fmt.Sprint(ledger.RevisionBegun, " ", t.at.UTC()))
		}
	}
	for _, e := range slices.Backward(events) {
		if e.Kind == ledger.RevisionBegun || e.Kind == ledger.RevisionEnded {
			told = append(told, fmt.Sprint(e.Kind, " ", e.At.UTC()))
		}
	}
	if !slices.Equal(was, told) {
		found = append(found, proof.Violation{Rule: Misdated, Of: jobID, What: fmt.Sprintf("it was %v, the events are %v", was, told)})
	}
	return found
}

// always are the jobs that every revision has.
func always() (ids []string) {
	for _, s := range specs {
		if s.kind != seasonal {
			ids = append(ids, s.id)
		}
	}
	return ids
}
