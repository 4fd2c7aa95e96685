package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// eventActs are what may befall a system of functions: there is no fleet, and no
// tick.
var eventActs = []act{
	{8, (*script).edit}, {3, (*script).jump}, {6, (*script).outage}, {6, (*script).targetOutage},
	{3, (*script).pause}, {6, (*script).redrive}, {3, (*script).ack}, {4, (*script).cancel},
	{3, (*script).trigger}, {4, (*script).purge}, {10, func(*script) {}},
}

// mayDie kills one function in five at a moment of its run.
func (w *world) mayDie(p *process, limit time.Duration) (spare func() bool) {
	r := w.Dice("death "+p.id, 0)
	if !w.options.EventsOnly || w.isCalm() || r.IntN(5) > 0 {
		return func() bool { return true }
	}
	return time.AfterFunc(between(r, 0, pick(r, 100*time.Millisecond, limit)), p.kill).Stop
}

// goOn delivers the next scheduled times of each job to functions that nothing befalls,
// until nothing of its slot is left. What is left after that long is
// stuck: in such a system nobody else works on it.
func (s *script) goOn() (stuck []proof.Violation) {
	for i, j := range s.Current().Jobs() {
		if j.Disabled || !s.everSlotted(j.ID) {
			continue
		}
		_ = s.ledger.ResumeJob(context.Background(), j.ID, ledger.Actor{By: "op", Why: "simulated"}) // a job that was never seen is refused
		left := s.slotted(j.ID)
		for end := time.Now().Add(maxWait); len(left) > 0 && time.Now().Before(end); left = s.slotted(j.ID) {
			next := j.ParsedSchedule().Next(s.Now())
			if next.IsZero() {
				break
			}
			time.Sleep(next.Sub(s.Now()))
			s.give(j, next)
			r := s.Dice("calm event "+jobs.RunID(j.ID, next), i)
			for range 3 {
				if s.invoke(j, next, r) {
					break
				}
				time.Sleep(time.Minute)
			}
		}
		for _, run := range left {
			stuck = append(stuck, proof.Violation{Rule: proof.Stuck, Of: run.ID,
				What: fmt.Sprintf("%s, although its job's events go on", run.State)})
		}
	}
	return stuck
}

// everSlotted reports whether all versions of a job have its runs take the slot.
func (s *script) everSlotted(jobID string) bool {
	for _, v := range s.versions {
		if j, ok := v.Job(jobID); ok && j.Overlap == jobs.OverlapAllow {
			return false
		}
	}
	return jobID != jobs.PurgeJobID
}

// slotted are the unfinished runs of a job's scheduled times.
func (s *script) slotted(jobID string) (left []ledger.Run) {
	runs, err := s.ledger.List(context.Background(), ledger.Filter{
		JobID: jobID, States: ledger.Unfinished, Limit: 1 << 20,
	})
	s.must(err)
	for _, r := range runs {
		if !ledger.IsAdHoc(r.ID) {
			left = append(left, r)
		}
	}
	return left
}
