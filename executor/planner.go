package executor

import (
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// planner keeps the jobs that this process plans, each with its next scheduled time,
// in a heap: a look at the clock costs what is due, not what is registered.
// It belongs to one goroutine.
type planner struct {
	registry *jobs.Registry
	onTime   time.Duration
	entries  []entry // one for each place in the registry
	heap     dueHeap // of those that have a scheduled time after their watermark
}

// entry is where a job stands. There may be a hundred thousand, so it holds
// nothing that the registry has, and no pointer that the collector would follow.
type entry struct {
	revision int64
	seconds  int64 // of the watermark, since 1970
	nanos    int32
	planned  bool // by this process
}

func (e *entry) watermark() time.Time { return time.Unix(e.seconds, int64(e.nanos)).UTC() }

func newPlanner(r *jobs.Registry, onTime time.Duration) *planner {
	p := &planner{registry: r, onTime: onTime, entries: make([]entry, r.Len())}
	p.heap.index = make([]int32, r.Len())
	for i := range p.heap.index {
		p.heap.index[i] = -1
	}
	return p
}

// put sets where the job at a place of the registry stands.
func (p *planner) put(place int, at ledger.Position) {
	p.entries[place] = entry{at.Revision, at.Watermark.Unix(), int32(at.Watermark.Nanosecond()), true}
	next := p.registry.Schedule(place).Next(at.Watermark)
	if next.IsZero() {
		p.heap.remove(place)
		return
	}
	p.heap.put(dueNode{next.Unix(), int32(place)})
}

// drop stops planning a job.
func (p *planner) drop(place int) {
	p.entries[place].planned = false
	p.heap.remove(place)
}

// reach moves a job to where the ledger says that it stands; it reports false
// where the revision is another: somebody switched the job's definition.
func (p *planner) reach(place int, at ledger.Position) bool {
	switch e := &p.entries[place]; {
	case !e.planned:
	case e.revision != at.Revision:
		p.drop(place)
		return false
	default:
		p.put(place, at)
	}
	return true
}

// nextDue is the earliest scheduled time of all jobs; zero when there is none.
func (p *planner) nextDue() time.Time {
	if len(p.heap.nodes) == 0 {
		return time.Time{}
	}
	return time.Unix(p.heap.nodes[0].at, 0).UTC()
}

// batch is what goes into one admission.
type batch struct {
	plans  []ledger.Plan
	places []int // of each plan's job in the registry; -1: not there
	rows   int   // scheduled times in all plans
	bytes  int   // of their requests' bodies
}

func (b *batch) add(place int, plan ledger.Plan) {
	b.plans, b.places = append(b.plans, plan), append(b.places, place)
	b.rows += len(plan.Runs)
	for i := range plan.Runs {
		b.bytes += len(plan.Runs[i].Call.Body)
	}
}

// full reports whether the batch has reached its bounds.
func (b *batch) full(rows int) bool { return b.rows >= rows || b.bytes >= admitBytes }

// due plans the jobs whose next scheduled time has come, earliest first, until the
// batch is full. The jobs stay where they are until reach.
func (p *planner) due(now time.Time, limit int) (b batch) {
	for place := range p.heap.upTo(now.Unix()) {
		if b.plans == nil {
			b.plans, b.places = make([]ledger.Plan, 0, min(limit, len(p.heap.nodes))), make([]int, 0, min(limit, len(p.heap.nodes)))
		}
		j, e := p.registry.At(place), &p.entries[place]
		b.add(place, planJob(j, ledger.Position{JobID: j.ID, Revision: e.revision, Watermark: e.watermark()}, now, p.onTime))
		if b.full(limit) {
			break
		}
	}
	return b
}

// planJob accounts for the job's scheduled times from where it stands up to now.
func planJob(j jobs.Job, at ledger.Position, now time.Time, onTime time.Duration) ledger.Plan {
	rows, through := instants(j, at.Watermark, now, onTime)
	plan := ledger.Plan{
		JobID: j.ID, Revision: at.Revision, After: at.Watermark, Through: through, Runs: rows,
	}
	for g := range j.Parsed().Gaps(at.Watermark, through) {
		plan.Events = append(plan.Events, ledger.Event{
			JobID: j.ID, At: g.At, Kind: ledger.GapSkipped, Local: g.Local, Zone: g.Zone,
		})
	}
	return plan
}
