package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// newTemplate draws the template of the schedules that clients make.
func (p plan) newTemplate(r *rand.Rand) *jobs.Template {
	j := p.job(r, "keyed")
	j.Schedule, j.MaxInFlight, j.Spread, j.Overlap = "", 0, 0, jobs.OverlapAllow
	j.CatchUp, j.CatchUpWindow = pick(r, jobs.CatchUpLatest, jobs.CatchUpAll), 7*24*time.Hour
	j.Path += "/{{key}}"
	return &jobs.Template{Job: j, Max: 100}
}

// editTemplate changes the template, makes it need data that not all schedules have, or leaves
// it out of the next version.
func (s *script) editTemplate() {
	if s.template == nil {
		return
	}
	r := s.Dice("template", len(s.versions))
	edited := *s.template
	switch r.IntN(4) {
	case 0:
		if s.plan.template = nil; r.IntN(2) == 0 {
			edited.Body = map[string]string{"edition": "{{data.edition}}"}
			s.plan.template = &edited
		}
	case 1:
		edited.Path = fmt.Sprintf("/keyed/v%d/{{key}}", r.IntN(100))
		s.template, s.plan.template = &edited, &edited
	default:
		s.plan.template = s.template
	}
}

// restoreTemplate makes a version with the template, so that its schedules are planned in the
// end.
func (s *script) restoreTemplate() error {
	if s.template == s.plan.template {
		return nil
	}
	s.plan.template = s.template
	reg, err := s.plan.registry()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions = append(s.versions, reg)
	return err
}

// keys are few, so that two clients change one schedule at once.
var keys = []string{"a", "b", "c"}

// client changes schedules until all faults end. It repeats a change whose answer it does
// not get, perhaps after another client's later one.
func (w *world) client(n int) {
	for i := 0; ; i++ {
		r := w.Dice(fmt.Sprintf("client %d", n), i)
		if !w.sleep(between(r, time.Second, pick(r, 20*time.Second, 3*time.Minute))) || w.isCalm() {
			return
		}
		p, ctx := w.newProcess(context.Background(), fmt.Sprintf("client-%d-%d", n, i))
		w.change(ctx, p, r, int64(2*i+n+1))
		p.kill()
		w.note(func(t *Tally) { t.Kills-- })
	}
}

// change makes one change, up to four times.
func (w *world) change(ctx context.Context, p *process, r *rand.Rand, generation int64) {
	in := ledger.ScheduleChange{JobID: jobs.ScheduleID("keyed", pick(r, keys...)), Delete: r.IntN(5) == 0}
	if r.IntN(2) == 0 {
		in.Generation = generation
	}
	expr := pick(r, schedules...)
	if r.IntN(4) == 0 {
		expr = "at(" + w.Now().Add(between(r, time.Second, 10*time.Minute)).Format("2006-01-02T15:04:05") + ")"
	}
	reg := w.Current()
	t, known := reg.Template("keyed")
	if !known && !in.Delete {
		return
	}
	if !in.Delete {
		s, err := t.Check(jobs.KeyedSchedule{Key: "a", Schedule: expr, Timezone: pick(r, "UTC", t.Timezone),
			Data: []byte(pick(r, "", `{"edition":1}`))})
		if err != nil {
			return // it never fires, or has not the data
		}
		in.Expr, in.Timezone, in.DST, in.Data = s.Schedule, s.Timezone, string(s.DST), s.Data
		if r.IntN(4) == 0 {
			in.Until = w.Now().Add(between(r, time.Minute, time.Hour)).Truncate(time.Second)
		}
	}
	c := ledger.ChangeSchedulesRequest{
		Template: "keyed", Max: t.Max, Items: []ledger.ScheduleChange{in}, Rules: executor.ScheduleRules(reg, 0),
		Actor: ledger.Actor{By: "client", Why: "simulated"},
	}
	for range 4 {
		got, err := through(ctx, p, "put", func() ([]ledger.ScheduleResult, error) { return w.ledger.ChangeSchedules(ctx, c) })
		switch {
		case err == nil && !errors.Is(got[0].Err, ledger.ErrBacklog):
			w.note(func(t *Tally) { t.Schedules++ })
			return
		case err != nil && !errors.Is(err, ledger.ErrUnavailable):
			w.fail(err)
			return
		}
		if !w.sleep(between(r, time.Second, time.Minute)) {
			return
		}
	}
}
