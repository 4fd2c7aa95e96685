package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// epochs says which schedule each job had when, from as little of what the
// ledger says of itself as will do: when its epochs began, and its watermark.
// Which schedule an edited job had in an epoch, its rows say in the bodies that
// they send.
func epochs(ctx context.Context, s store, rows []ledger.Run) ([]proof.Epoch, error) {
	all, err := s.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var list []proof.Epoch
	for _, job := range all {
		spec, ok := specOf(job.JobID)
		if !ok {
			continue // the purge, which is not due in the time
		}
		begun, err := beginnings(ctx, s, job.JobID)
		if err != nil {
			return nil, err
		}
		h := &history{spec: spec, status: job, begun: begun}
		if err := h.read(rows); err != nil {
			return nil, err
		}
		switch spec.kind {
		case steady, constant:
			list = append(list, h.epoch(spec.schedule, begun[0], job.Watermark))
		case seasonal:
			list = append(list, h.seasons()...)
		default:
			list = append(list, h.turns()...)
		}
	}
	return list, nil
}

// beginnings are when a job's epochs began, oldest first.
func beginnings(ctx context.Context, s store, id string) ([]time.Time, error) {
	events, err := s.Events(ctx, id, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	var begun []time.Time
	for _, e := range events {
		if e.Kind == ledger.EpochBegun {
			begun = append(begun, e.At)
		}
	}
	if len(begun) == 0 {
		return nil, fmt.Errorf("%s has no epoch", id)
	}
	return begun, nil
}

// history is what is known of one job's epochs, which are numbered from 1.
type history struct {
	spec        jobSpec
	status      ledger.JobStatus
	begun       []time.Time
	first, last map[int64]time.Time // instants with a row, by epoch
	schedule    map[int64]string
}

func (h *history) read(rows []ledger.Run) error {
	h.first, h.last, h.schedule = map[int64]time.Time{}, map[int64]time.Time{}, map[int64]string{}
	for _, r := range rows {
		if r.JobID != h.spec.id || len(r.Call.Body) == 0 {
			continue
		}
		if at, ok := h.first[r.Epoch]; !ok || r.ScheduledAt.Before(at) {
			h.first[r.Epoch] = r.ScheduledAt
		}
		if r.ScheduledAt.After(h.last[r.Epoch]) {
			h.last[r.Epoch] = r.ScheduledAt
		}
		var body struct{ Schedule string }
		if err := json.Unmarshal(r.Call.Body, &body); err != nil {
			return fmt.Errorf("the frozen body of %s: %w", r.ID, err)
		}
		h.schedule[r.Epoch] = body.Schedule
	}
	return nil
}

func (h *history) epoch(schedule string, from, to time.Time) proof.Epoch {
	return proof.Epoch{JobID: h.spec.id, Schedule: parsed(schedule), From: from, To: to}
}

// parsed reads a schedule of this package's own.
func parsed(schedule string) *jobs.Schedule {
	s, err := jobs.ParseSchedule(schedule, "UTC", jobs.DSTOnce)
	if err != nil {
		panic(err)
	}
	return s
}

// current reports whether the epoch is the one that the job is in.
func (h *history) current(n int64) bool { return n == h.status.Epoch && !h.status.Ended }

// seasons are the epochs of a job that is removed and added again. One that is
// over reaches at least up to its last row.
func (h *history) seasons() (list []proof.Epoch) {
	for i, from := range h.begun {
		n := int64(i + 1)
		to, ok := h.last[n]
		if h.current(n) {
			to, ok = h.status.Watermark, true
		}
		if ok {
			list = append(list, h.epoch(h.spec.schedule, from, to))
		}
	}
	return list
}

// turns are the epochs of a job whose schedule is edited.
func (h *history) turns() (list []proof.Epoch) {
	from := h.begun[0]
	for i := range h.begun {
		n := int64(i + 1)
		schedule, ok := h.schedule[n]
		if !ok {
			// Over before its first instant, which was another schedule's than
			// those beside it.
			if i+1 < len(h.begun) {
				from = h.begun[i+1]
			}
			continue
		}
		to := h.status.Watermark
		if !h.current(n) {
			to = h.turn(n)
		}
		list = append(list, h.epoch(schedule, from, to))
		from = to
	}
	return list
}

// stall is the longest time that the edit of a job may take, between the
// planner's look at the clock and the transaction that the ledger dates it by.
const stall = 10 * time.Second

// turn is a time at which the n-th epoch can have ended: at the latest when
// the ledger says that the next one began, and before that epoch's first row.
// In the stall before, an instant of the outgoing schedule that has no row is
// taken to be after the turn.
func (h *history) turn(n int64) time.Time {
	turn := h.begun[n]
	if next := parsed(h.schedule[n]).Next(h.last[n]); next.Before(turn) && next.After(turn.Add(-stall)) {
		turn = next.Add(-time.Second)
	}
	for later := n + 1; later <= int64(len(h.begun)); later++ {
		if at, ok := h.first[later]; ok {
			if !at.After(turn) {
				turn = at.Add(-time.Second)
			}
			break
		}
	}
	return turn
}
