package executor

import (
	"container/heap"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// planner keeps the jobs that this process plans, each with its next instant,
// in a heap: a look at the clock costs what is due, not what is registered.
// It belongs to one goroutine.
type planner struct {
	registry *jobs.Registry
	onTime   time.Duration
	entries  []entry // one for each place in the registry
	heap     dueHeap
}

// entry is where a job stands. There may be a hundred thousand, so it holds
// nothing that the registry has.
type entry struct {
	epoch     int64
	watermark time.Time
	next      time.Time // first instant after the watermark; zero: never again
	place     int32     // in the registry
	index     int32     // in the heap; -1: not in it
	planned   bool      // by this process
}

func newPlanner(r *jobs.Registry, onTime time.Duration) *planner {
	p := &planner{registry: r, onTime: onTime, entries: make([]entry, r.Len())}
	for i := range p.entries {
		p.entries[i].place, p.entries[i].index = int32(i), -1
	}
	return p
}

// put sets where the job at a place of the registry stands.
func (p *planner) put(place int, at ledger.Position) {
	e := &p.entries[place]
	e.planned, e.epoch = true, at.Epoch
	p.move(e, at.Watermark)
}

// drop stops planning a job.
func (p *planner) drop(place int) {
	e := &p.entries[place]
	e.planned = false
	if e.index >= 0 {
		heap.Remove(&p.heap, int(e.index))
	}
}

// reach moves a job to where the ledger says that it stands; it reports false
// where the epoch is another: somebody switched the job's definition.
func (p *planner) reach(at ledger.Position) bool {
	place, known := p.registry.Index(at.JobID)
	if !known || !p.entries[place].planned {
		return true
	}
	e := &p.entries[place]
	if e.epoch != at.Epoch {
		p.drop(place)
		return false
	}
	p.move(e, at.Watermark)
	return true
}

func (p *planner) move(e *entry, watermark time.Time) {
	e.watermark = watermark
	e.next = p.registry.Schedule(int(e.place)).Next(watermark)
	switch {
	case e.next.IsZero() && e.index >= 0:
		heap.Remove(&p.heap, int(e.index))
	case e.next.IsZero():
	case e.index >= 0:
		heap.Fix(&p.heap, int(e.index))
	default:
		heap.Push(&p.heap, e)
	}
}

// nextDue is the earliest instant of all jobs; zero when there is none.
func (p *planner) nextDue() time.Time {
	if len(p.heap) == 0 {
		return time.Time{}
	}
	return p.heap[0].next
}

// due plans the jobs whose next instant has come, earliest first, until the
// plans hold about limit rows. The jobs stay where they are until reach.
func (p *planner) due(now time.Time, limit int) []ledger.Plan {
	most := min(limit, len(p.heap))
	out, taken := make([]ledger.Plan, 0, most), make([]*entry, 0, most)
	rows := 0
	for len(p.heap) > 0 && !p.heap[0].next.After(now) && rows < limit {
		e := heap.Pop(&p.heap).(*entry)
		taken = append(taken, e)
		j := p.registry.At(int(e.place))
		plan := planJob(j, ledger.Position{JobID: j.ID, Epoch: e.epoch, Watermark: e.watermark}, now, p.onTime)
		rows += len(plan.Instants)
		out = append(out, plan)
	}
	for _, e := range taken {
		heap.Push(&p.heap, e)
	}
	return out
}

// planJob accounts for the job's instants from where it stands up to now.
func planJob(j jobs.Job, at ledger.Position, now time.Time, onTime time.Duration) ledger.Plan {
	rows, through := instants(j, at.Watermark, now, onTime)
	plan := ledger.Plan{
		JobID: j.ID, Epoch: at.Epoch, After: at.Watermark, Through: through, Instants: rows,
	}
	for g := range j.Parsed().Gaps(at.Watermark, through) {
		plan.Events = append(plan.Events, ledger.Event{
			JobID: j.ID, At: g.At, Kind: ledger.GapSkipped, Local: g.Local, Zone: g.Zone,
		})
	}
	return plan
}

type dueHeap []*entry

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].next.Before(h[j].next) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

func (h *dueHeap) Push(x any) {
	e := x.(*entry)
	e.index = int32(len(*h))
	*h = append(*h, e)
}

func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
