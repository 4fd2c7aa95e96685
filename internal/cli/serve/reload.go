package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
)

// watchEvery is how often --watch reads the files; a change has to last for two
// looks.
const watchEvery = 2 * time.Second

// requestReloads asks the fleet for a reload at each hangup and, with --watch,
// at each change of a file, until stop. A hangup because the terminal has gone
// stops serve instead.
func (s *server) requestReloads(ctx context.Context, fleet *rollover.Fleet[*instance], h *hangups, files *rollover.Watch) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		for h.next(ctx) {
			fleet.Request()
		}
	})
	if s.flags.watch {
		group.Go(func() { files.Run(ctx, watchEvery, fleet.Request) })
	}
	return func() { cancel(); group.Wait() }
}

// reloads tells the log, the metrics and the service manager of each reload.
type reloads struct {
	log     *slog.Logger
	metrics *telemetry.Reloads
	notify  notifier
	now     func() time.Time
}

func (r *reloads) Reloading() {
	r.log.Info("reloading the registry")
	r.notify.reloading()
}

func (r *reloads) Reloaded(err error) {
	r.metrics.Reloaded(err, r.now())
	r.notify.ready()
	if err == nil {
		r.log.Info("registry reloaded; the former one stops gracefully")
		return
	}
	problems := 1
	if list, ok := errors.AsType[jobs.Problems](err); ok {
		problems = len(list)
	}
	r.log.Error("registry not reloaded; the one in use stays", "problems", problems, "error", err)
}

// servesDespite returns what is wrong although the process serves, for the warnings of /readyz.
func servesDespite(fleet *rollover.Fleet[*instance]) (list []string) {
	if err := fleet.Failure(); err != nil {
		list = append(list, "the registry was not reloaded, the former one is served: "+err.Error())
	}
	if text := fleet.Current().Ahead(); text != "" {
		list = append(list, text)
	}
	if text := fleet.Current().purge.Warning(); text != "" {
		list = append(list, text)
	}
	return list
}

// leasedBy lists the runs that the process holds.
func leasedBy(fleet *rollover.Fleet[*instance]) func() []string {
	return func() (ids []string) {
		for _, i := range fleet.Members() {
			ids = append(ids, i.Leased()...)
		}
		return ids
	}
}
