package executor

import (
	"container/heap"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// admitLimit is about how many rows one admission writes: enough to batch
	// well, few enough that other transactions do not wait long for the jobs' rows,
	// and that one statement takes little memory. With 500 a row costs as
	// much processor time as with 2,000.
	admitLimit = 500
	// admitBytes is about how much of requests' bodies and headers one admission holds.
	admitBytes = 1 << 20
)

// planner knows what is due. It keeps the jobs that this process plans in a heap
// by their next scheduled times, so that a look at the clock costs what is due and
// not what is registered. It belongs to the loop's goroutine and does no I/O.
type planner struct {
	registry *jobs.Registry
	onTime   time.Duration
	jobs     []plannedJob // by the index of the job in the registry
	heap     dueHeap
}

// plannedJob is the position of a job of the registry. There may be very many, so its times are the
// microseconds that a ledger keeps.
type plannedJob struct {
	revision  int64
	watermark int64
	next      int64 // when the first scheduled time after the watermark is due
	index     int32
	heapIndex int32 // in the heap; -1: not in it
	planned   bool  // by this process
}

// newPlanner returns a planner of a registry's jobs that plans none yet.
func newPlanner(r *jobs.Registry, onTime time.Duration) *planner {
	p := &planner{registry: r, onTime: onTime, jobs: make([]plannedJob, r.Len())}
	for i := range p.jobs {
		p.jobs[i].index, p.jobs[i].heapIndex = int32(i), -1
	}
	return p
}

// update plans the job at an index of the registry from a position on. A job whose schedule has no
// further time leaves the heap, and stays known.
func (p *planner) update(index int, at ledger.Position) {
	j := &p.jobs[index]
	j.revision, j.watermark, j.planned = at.Revision, at.Watermark.UnixMicro(), true
	next := p.registry.NextDue(index, at.Watermark)
	j.next = next.UnixMicro()
	switch {
	case next.IsZero():
		p.heap.remove(j)
	case j.heapIndex < 0:
		heap.Push(&p.heap, j)
	default:
		heap.Fix(&p.heap, int(j.heapIndex))
	}
}

// position returns the revision and the watermark of the job at an index.
func (p *planner) position(index int) ledger.Position {
	j := &p.jobs[index]
	return ledger.Position{JobID: p.registry.ID(index), Revision: j.revision, Watermark: time.UnixMicro(j.watermark).UTC()}
}

// drop stops planning a job.
func (p *planner) drop(index int) {
	p.jobs[index].planned = false
	p.heap.remove(&p.jobs[index])
}

// moveTo moves a job to where the ledger says that it stands. It reports false
// where the revision is another: another process switched the job's definition.
func (p *planner) moveTo(index int, at ledger.Position) bool {
	switch j := &p.jobs[index]; {
	case !j.planned:
	case j.revision != at.Revision:
		p.drop(index)
		return false
	default:
		p.update(index, at)
	}
	return true
}

// postpone plans a job no earlier than a time.
func (p *planner) postpone(index int, until time.Time) {
	if j := &p.jobs[index]; j.heapIndex >= 0 {
		j.next = until.UnixMicro()
		heap.Fix(&p.heap, int(j.heapIndex))
	}
}

// nextDue returns when the first scheduled time of all jobs is due; zero when there is none.
func (p *planner) nextDue() time.Time {
	if len(p.heap) == 0 {
		return time.Time{}
	}
	return time.UnixMicro(p.heap[0].next).UTC()
}

// latest returns the latest watermark of the jobs that this process plans.
func (p *planner) latest() time.Time {
	latest := time.Time{}.UnixMicro()
	for i := range p.jobs {
		if j := &p.jobs[i]; j.planned {
			latest = max(latest, j.watermark)
		}
	}
	return time.UnixMicro(latest).UTC()
}

// due takes out the jobs whose next scheduled time has come, earliest first, and
// plans them, until the batch is full. Each job comes back by moveTo, when the
// ledger has answered, or by restore.
func (p *planner) due(now time.Time) (b batch) {
	for len(p.heap) > 0 && p.heap[0].next <= now.UnixMicro() && !b.full() {
		index := int(heap.Pop(&p.heap).(*plannedJob).index)
		job := p.registry.At(index)
		b.add(index, planJob(job, p.position(index), now, job.DueBy(now), p.onTime))
	}
	return b
}

// restore puts the jobs of a batch that was not admitted back to where they were.
func (p *planner) restore(b batch) {
	for _, index := range b.indexes {
		if index >= 0 && p.jobs[index].planned {
			p.update(index, p.position(index))
		}
	}
}

// planJob accounts for the job's scheduled times from where it stands up to due.
func planJob(j jobs.Job, at ledger.Position, now, due time.Time, onTime time.Duration) ledger.Plan {
	rows, through := planTimes(j, at.Watermark, now, due, onTime)
	return jobPlan(j, at, rows, through)
}

// jobPlan returns the plan of rows that account for the job's scheduled times from a position on,
// with the events of local times that do not exist.
func jobPlan(j jobs.Job, at ledger.Position, rows []ledger.RunSpec, through time.Time) ledger.Plan {
	plan := ledger.Plan{
		JobID: j.ID, Traits: TraitsOf(j), Revision: at.Revision, After: at.Watermark, Through: through, Runs: rows,
	}
	for g := range j.ParsedSchedule().Gaps(at.Watermark, through) {
		plan.Events = append(plan.Events, ledger.Event{
			JobID: j.ID, At: g.At, Kind: ledger.EventGapSkipped, Local: g.Local, Zone: g.Zone,
		})
	}
	return plan
}

// batch has the plans of one admission, and their sizes.
type batch struct {
	plans   []ledger.Plan
	indexes []int // of each plan's job in the registry; -1: not there
	rows    int   // scheduled times in all plans
	bytes   int   // of their requests' bodies and headers
}

// add adds a plan, and what it counts for the bounds.
func (b *batch) add(index int, plan ledger.Plan) {
	b.plans, b.indexes = append(b.plans, plan), append(b.indexes, index)
	b.rows += len(plan.Runs)
	for i := range plan.Runs {
		b.bytes += len(plan.Runs[i].Call.Body)
		for name, value := range plan.Runs[i].Call.Headers {
			b.bytes += len(name) + len(value)
		}
	}
}

// full reports whether the batch has reached its bounds.
func (b *batch) full() bool { return b.rows >= admitLimit || b.bytes >= admitBytes }

// dueHeap orders jobs by their next scheduled times; see container/heap. Each job knows its place,
// so that it can be moved or taken out.
type dueHeap []*plannedJob

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(a, b int) bool { return h[a].next < h[b].next }

func (h dueHeap) Swap(a, b int) {
	h[a], h[b] = h[b], h[a]
	h[a].heapIndex, h[b].heapIndex = int32(a), int32(b)
}

// Push is called by container/heap alone.
func (h *dueHeap) Push(x any) {
	j := x.(*plannedJob)
	j.heapIndex = int32(len(*h))
	*h = append(*h, j)
}

// Pop is called by container/heap alone.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	j := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	j.heapIndex = -1
	return j
}

// remove takes out a job, if it is in the heap.
func (h *dueHeap) remove(j *plannedJob) {
	if j.heapIndex >= 0 {
		heap.Remove(h, int(j.heapIndex))
	}
}
