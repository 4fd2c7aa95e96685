package executor

// jobQueues are the queued runs of a target, a queue for each job, oldest first. Jobs take
// turns, so that the backlog of one does not hold up another's one run.
type jobQueues struct {
	turns []*jobQueue // of the jobs that have runs here; the first has the next turn
	byJob map[string]*jobQueue
}

// jobQueue has the queued runs of a job, oldest first. It is not empty.
type jobQueue struct{ runs []*run }

// push queues a run behind those of its job. A job without one gets the last turn.
func (q *jobQueues) push(r *run) {
	j := q.byJob[r.limitKey()]
	if j == nil {
		j = &jobQueue{}
		if q.byJob == nil {
			q.byJob = map[string]*jobQueue{}
		}
		q.byJob[r.limitKey()] = j
		q.turns = append(q.turns, j)
	}
	j.runs = append(j.runs, r)
}

// pop removes and returns the next run that is ready, or nil. Its job then has the last turn; jobs
// that were not ready keep theirs.
func (q *jobQueues) pop(ready func(*run) bool) *run {
	for i, j := range q.turns {
		r := j.runs[0]
		if !ready(r) {
			continue
		}
		j.runs[0] = nil // the array keeps its place, not its request
		j.runs = j.runs[1:]
		copy(q.turns[1:i+1], q.turns[:i])
		q.turns = q.turns[1:]
		if len(j.runs) > 0 {
			q.turns = append(q.turns, j)
		} else {
			delete(q.byJob, r.limitKey())
		}
		return r
	}
	return nil
}

// remove removes the runs that match, and returns them in the order of their turns.
func (q *jobQueues) remove(which func(*run) bool) (out []*run) {
	var kept jobQueues
	for r := q.pop(always); r != nil; r = q.pop(always) {
		if which(r) {
			out = append(out, r)
		} else {
			kept.push(r)
		}
	}
	*q = kept
	return out
}

func always(*run) bool { return true }
