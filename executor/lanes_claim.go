package executor

import "time"

// What a claim leaves out, by what the lanes have.

// maxStarvedJobs limits how many waiting jobs a claim names.
const maxStarvedJobs = 1000

// busy names the targets and jobs at their limits, and the targets that are closed. A claim leaves
// out their runs.
func (q *lanes) busy(now time.Time) (targets, jobIDs []string) {
	for _, l := range q.order {
		if l.closed(now, false) || l.notifications && q.notifications.full() {
			targets = append(targets, l.target)
		}
	}
	for id, c := range q.jobs {
		if c.full() {
			jobIDs = append(jobIDs, id)
		}
	}
	return targets, jobIDs
}

// starved returns the limits of a claim for starved jobs: those that have no run waiting here while
// others have a backlog. limit is 0 if no job can be starved: an ordinary claim finds all. targets
// and jobIDs are left out of the claim: the targets that take not even the first run of a job, and the
// jobs that wait here or are at their limits.
func (q *lanes) starved(now time.Time) (limit int, targets, jobIDs []string) {
	backlogged := q.all.waiting > q.room()
	for _, l := range q.order {
		backlogged = backlogged || l.full() && l.waiting > 0
		if l.closed(now, true) || q.saturatedBy(l) || l.notifications && q.notifications.full() {
			targets = append(targets, l.target)
			continue
		}
		for id, c := range l.jobs {
			if c.waiting > 0 {
				jobIDs = append(jobIDs, id)
			}
		}
	}
	for id, c := range q.jobs {
		if c.full() {
			jobIDs = append(jobIDs, id)
		}
	}
	if !backlogged || len(jobIDs) > maxStarvedJobs {
		return 0, nil, nil
	}
	return q.firstsLeft(), targets, jobIDs
}

// firstsLeft returns how many first runs of jobs may be leased beyond the room that runs have in
// all. A target that is saturated has had its part.
func (q *lanes) firstsLeft() int {
	firsts := q.waitingFirsts
	for _, l := range q.order {
		if q.saturatedBy(l) {
			firsts -= l.waitingFirsts
		}
	}
	return max(0, q.max-firsts)
}

// saturatedBy reports whether a target that sets no limit has as many first runs of jobs here
// as there are places. If it hangs, its thousands of jobs would else keep those of all other
// targets from being leased.
func (q *lanes) saturatedBy(l *lane) bool { return l.limit == 0 && l.waitingFirsts >= q.max }
