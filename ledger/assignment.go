package ledger

import (
	"context"
	"fmt"
	"sort"
	"time"
)

// JobAssignment says which definition of a job is current and which one should be.
//
// Among the definitions of a job that live processes declare, the desired one has the
// latest first declaration. A definition's first declaration is remembered when its
// processes are gone. Hash differs from Desired if the job was edited, removed (Desired
// is "") or fell back to an earlier definition. Body is then the current definition, so
// that a process with the desired one can plan the current one to its end and switch.
type JobAssignment struct {
	Position
	Hash    string // of the current revision; "" when the job has ended
	Desired string // hash of the definition that should be current; "": none
	Body    []byte // of the current revision; set only when Hash != Desired
}

// AssignmentsPage is the number of jobs that Assignments lists at most.
const AssignmentsPage = 500

// Assignments lists jobs that have not ended or that a live process declares, by ID: the
// first ones after a job ID. It lists none only if none is left. A job that was never seen
// before or has ended, and whose desired definition the version has, begins its next
// revision.
func (l *Ledger) Assignments(ctx context.Context, version, after string) ([]JobAssignment, error) {
	for begun := false; ; {
		page, err := read(ctx, l, "assignments", func(tx Tx) (*assignmentPage, error) { return readAssignments(tx, version, after) })
		if err != nil {
			return nil, err
		}
		switch {
		case len(page.begin) > 0 && !begun:
			err := l.rows.Write(ctx, "begin jobs", func(tx Tx) error { return beginJobs(tx, page.begin) })
			if err != nil {
				return nil, err
			}
			begun = true
		case len(page.list) > 0 || page.last == "":
			return page.list, nil
		default:
			after, begun = page.last, false
		}
	}
}

// assignmentPage are the assignments of the first jobs after an ID.
type assignmentPage struct {
	list      []JobAssignment
	last      string // the ID that it ends at; "": it has all that there are
	begin     []Definition
	desired   map[string]JobDefinition // by job
	ownHashes map[string]string        // the hashes of the version's definitions, by job
}

// readAssignments reads a page of jobs, and what the live processes declare of them. A page ends
// where the first of its lists ends, so that no job's definitions are on two pages.
func readAssignments(tx Tx, version, after string) (*assignmentPage, error) {
	processesFuture := tx.Processes()
	now, err := tx.Now()
	if err != nil {
		return nil, err
	}
	list, err := processesFuture.Get()
	if err != nil {
		return nil, err
	}
	versions, _ := liveVersions(list, now)
	jobsFuture, declaredFutures := tx.JobsAfter(after, AssignmentsPage), make([]Future[[]JobDefinition], len(versions))
	for i, v := range versions {
		declaredFutures[i] = tx.Declared(v, after, AssignmentsPage)
	}
	jobs, err := jobsFuture.Get()
	if err != nil {
		return nil, err
	}
	p := &assignmentPage{desired: map[string]JobDefinition{}, ownHashes: map[string]string{}}
	if len(jobs) == AssignmentsPage {
		p.last = jobs[len(jobs)-1].JobID
	}
	for i, v := range versions {
		list, err := declaredFutures[i].Get()
		if err != nil {
			return nil, err
		}
		p.addDesired(list, v == version)
	}
	p.build(jobs)
	return p, p.addBodies(tx)
}

// addDesired takes the definitions of a version. Of those of a job, the one that was first
// declared last is desired.
func (p *assignmentPage) addDesired(list []JobDefinition, own bool) {
	if n := len(list); n == AssignmentsPage && (p.last == "" || list[n-1].JobID < p.last) {
		p.last = list[n-1].JobID
	}
	for _, d := range list {
		if o := p.desired[d.JobID]; o.Hash == "" || d.Order > o.Order || d.Order == o.Order && d.Hash > o.Hash {
			p.desired[d.JobID] = d
		}
		if own {
			p.ownHashes[d.JobID] = d.Hash
		}
	}
}

// build makes the list of the page, by job ID, and names the jobs whose first or next revision this
// version may begin.
func (p *assignmentPage) build(jobs []JobRow) {
	for i := range jobs {
		a := JobAssignment{Position: jobs[i].Position, Desired: p.desired[jobs[i].JobID].Hash}
		if jobs[i].EndedAt.IsZero() {
			a.Hash = jobs[i].Hash
		}
		p.add(a)
		delete(p.desired, a.JobID)
	}
	for id, d := range p.desired {
		p.add(JobAssignment{Position: Position{JobID: id}, Desired: d.Hash})
	}
	sort.Slice(p.list, func(i, k int) bool { return p.list[i].JobID < p.list[k].JobID })
	for _, a := range p.list {
		if a.Hash == "" && a.Desired == p.ownHashes[a.JobID] {
			p.begin = append(p.begin, Definition{JobID: a.JobID, Hash: a.Desired})
		}
	}
}

// add adds an assignment that is on this page. A job that has ended and that nobody declares has
// none.
func (p *assignmentPage) add(a JobAssignment) {
	if p.last != "" && a.JobID > p.last || a.Hash == "" && a.Desired == "" {
		return
	}
	p.list = append(p.list, a)
}

// addBodies adds the current definitions that are not the desired ones.
func (p *assignmentPage) addBodies(tx Tx) error {
	var ids []string
	for _, a := range p.list {
		if a.Hash != a.Desired && a.Hash != "" {
			ids = append(ids, a.JobID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	bodies, err := tx.JobBodies(ids).Get()
	for i := range p.list {
		p.list[i].Body = bodies[p.list[i].JobID]
	}
	return err
}

// beginJobs begins the next revisions of those of the jobs that have none, unless another
// process has begun them. Nothing before now is due.
func beginJobs(tx Tx, list []Definition) error {
	jobs, now, err := lockedJobs(tx, list)
	if err != nil {
		return err
	}
	bodies, err := tx.Bodies(list).Get()
	if err != nil {
		return err
	}
	var changes []JobChange
	var events []Event
	for i, old := range jobs {
		body, known := bodies[old.JobID]
		if old.EndedAt.IsZero() || !known {
			continue
		}
		j := old
		if now.After(j.Watermark) {
			j.Watermark = now
		}
		events = append(events, j.beginRevision(Definition{JobID: j.JobID, Hash: list[i].Hash, Body: body}))
		changes = append(changes, DiffJobs(old, j))
	}
	if len(changes) == 0 {
		return nil
	}
	if err := tx.PutJobs(changes); err != nil {
		return err
	}
	return tx.AddEvents(events)
}

// lockedJobs locks the jobs of definitions, which are in the order of their IDs. Those that
// the ledger does not know get rows: of two processes that begin a job, one waits there for
// the other.
func lockedJobs(tx Tx, list []Definition) (jobs []JobRow, now time.Time, err error) {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].JobID
	}
	for range 2 {
		jobsFuture := tx.LockJobs(ids)
		if now, err = tx.Now(); err != nil {
			return nil, now, err
		}
		if jobs, err = jobsFuture.Get(); err != nil || len(jobs) == len(ids) {
			return jobs, now, err
		}
		known := jobs
		var unknown []JobChange
		for _, id := range ids {
			if len(known) > 0 && known[0].JobID == id {
				known = known[1:]
			} else {
				unknown = append(unknown, unknownJob(id, now))
			}
		}
		if err := tx.PutJobs(unknown); err != nil {
			return nil, now, err
		}
	}
	return nil, now, fmt.Errorf("a job's row was deleted while it began: %w", ErrUnavailable)
}

// unknownJob makes the row of a job that the ledger does not know.
func unknownJob(id string, now time.Time) JobChange {
	return JobChange{JobRow: JobRow{Position: Position{JobID: id}, EndedAt: now}, Set: JobColRevision}
}

// beginRevision begins the job's next revision at its watermark.
func (j *JobRow) beginRevision(d Definition) Event {
	j.Revision++
	j.Hash, j.Body, j.EndedAt = d.Hash, d.Body, time.Time{}
	return Event{JobID: j.JobID, At: j.Watermark, Kind: EventRevisionBegun}
}

// switchRevision ends the job's revision at its watermark, and begins the next if there
// is one.
func (j *JobRow) switchRevision(next Definition, now time.Time) []Event {
	events := []Event{{JobID: j.JobID, At: j.Watermark, Kind: EventRevisionEnded}}
	if next.Hash == "" {
		j.EndedAt, j.Hash, j.Body = now, "", nil
		return events
	}
	return append(events, j.beginRevision(next))
}
