package simulate

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

// addChannels gives half the plans channels, bounds on when runs start and end, and people
// who are told.
func (p *plan) addChannels(r *rand.Rand) {
	if r.IntN(2) == 0 {
		return
	}
	p.alarm = jobs.Alarm{StartWithin: pick(r, 0, 20*time.Second, 2*time.Minute), FinishWithin: pick(r, 0, 3*time.Minute, 20*time.Minute)}
	// Webhooks are told of each incident alone, which the checker follows.
	p.channels = []jobs.Channel{
		{Name: "ops", Type: jobs.ChannelWebhook, URLEnv: "OPS_URL", After: pick(r, 1, 1, 3), Remind: pick(r, 0, time.Minute, 5*time.Minute)},
		{Name: "hub", Type: jobs.ChannelWebhook, URLEnv: "HUB_URL", Remind: pick(r, 0, 2*time.Minute, time.Hour)},
	}
	if r.IntN(2) == 0 {
		p.channels[0].On = []string{string(ledger.IncidentDead), string(ledger.IncidentMissed)}
	}
}

// watch finds and tells incidents until ctx ends, as a process does beside its
// executor.
func (w *world) watch(ctx context.Context, p *process, reg *jobs.Registry) {
	if len(reg.Channels()) == 0 {
		return
	}
	watch := notify.NewNotifier(notify.Config{
		Registry: reg, Ledger: p, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.told(w.Now()) },
		Offset: between(w.Dice("watch "+p.id, 0), 0, notify.CheckEvery),
	})
	w.tasks.Go(func() { watch.Run(ctx) })
}

// attend plays the people who are told: now and then they acknowledge an incident or
// close it.
func (w *world) attend() {
	for n := 0; ; n++ {
		r := w.Dice("attend", n)
		if !w.sleep(between(r, 10*time.Second, 5*time.Minute)) {
			return
		}
		open, err := w.ledger.Incidents(context.Background(), ledger.IncidentFilter{Open: true})
		if err == nil && len(open) > 0 {
			act := ledger.IncidentAction{ID: open[r.IntN(len(open))].ID, Close: r.IntN(3) == 0, Actor: ledger.Actor{By: "op", Why: "simulated"}}
			_, err = w.ledger.AckIncident(context.Background(), act)
		}
		if err != nil {
			w.fail(err)
		}
	}
}

// What a watch asks of its ledger.

func (p *process) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	return through(ctx, p, "incidents", func() ([]ledger.Incident, error) { return p.w.ledger.Incidents(ctx, f) })
}

func (p *process) Pauses(ctx context.Context, ended bool) ([]ledger.Pause, error) {
	return through(ctx, p, "pauses", func() ([]ledger.Pause, error) { return p.w.ledger.Pauses(ctx, ended) })
}

func (p *process) ClosePauses(ctx context.Context) (int, error) {
	return through(ctx, p, "close pauses", func() (int, error) { return p.w.ledger.ClosePauses(ctx) })
}

func (p *process) MarkLate(ctx context.Context, limit int) (int, error) {
	return through(ctx, p, "mark late", func() (int, error) { return p.w.ledger.MarkLate(ctx, limit) })
}

func (p *process) ReconcileIncidents(ctx context.Context, cause ledger.IncidentCause, observed []ledger.JobProblem) error {
	_, err := through(ctx, p, "observe", func() (nothing, error) { return nothing{}, p.w.ledger.ReconcileIncidents(ctx, cause, observed) })
	return err
}

func (p *process) Counts(ctx context.Context) (ledger.Counts, error) {
	return through(ctx, p, "count", func() (ledger.Counts, error) { return p.w.ledger.Counts(ctx) })
}

func (p *process) List(ctx context.Context, f ledger.Filter) ([]ledger.Run, error) {
	return through(ctx, p, "list", func() ([]ledger.Run, error) { return p.w.ledger.List(ctx, f) })
}

func (p *process) Notify(ctx context.Context, t ledger.Notification) (bool, error) {
	return through(ctx, p, "tell", func() (bool, error) { return p.w.ledger.Notify(ctx, t) })
}
