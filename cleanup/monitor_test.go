package cleanup_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// purgeRuns has only runs of the purge, newest first.
type purgeRuns struct{ runs []ledger.Run }

func (p *purgeRuns) List(_ context.Context, f ledger.Filter) (found []ledger.Run, err error) {
	for _, r := range p.runs {
		if len(f.States) == 0 || r.State == f.States[0] {
			found = append(found, r)
		}
	}
	return found, nil
}

func TestAPurgeOverdueIsSeen(t *testing.T) {
	night := func(ago time.Duration, s ledger.State) ledger.Run {
		return ledger.Run{ScheduledAt: noon.Add(-ago), FinishedAt: noon.Add(-ago), State: s}
	}
	for _, tc := range []struct {
		rule string
		runs []ledger.Run
		want bool
	}{
		{"last night's succeeded", []ledger.Run{night(8*time.Hour, ledger.Succeeded)}, false},
		{"last night's failed, the one before succeeded", []ledger.Run{night(8*time.Hour, ledger.Dead), night(32*time.Hour, ledger.Succeeded)}, false},
		{"two nights failed", []ledger.Run{night(8*time.Hour, ledger.Dead), night(32*time.Hour, ledger.Dead), night(56*time.Hour, ledger.Succeeded)}, true},
		{"none ever succeeded", []ledger.Run{night(8*time.Hour, ledger.Dead), night(32*time.Hour, ledger.Dead), night(56*time.Hour, ledger.Dead)}, true},
		{"a process that has just begun", nil, false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			reg, err := jobs.NewRegistry(jobs.Name("test"))
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			var told bool
			w := cleanup.NewPurgeMonitor(cleanup.PurgeMonitorConfig{
				Registry: reg, Runs: &purgeRuns{runs: tc.runs}, Observed: func(_ time.Time, overdue bool) { told = overdue },
				Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return noon },
			})
			w.Check(t.Context())
			w.Check(t.Context())
			if got := w.Warning() != ""; got != tc.want || told != tc.want {
				t.Errorf("warning %q, told %t", w.Warning(), told)
			}
			if lines := strings.Count(log.String(), "overdue"); lines > 1 || (lines == 1) != tc.want {
				t.Errorf("%d lines: %s", lines, log.String())
			}
			w.Runs = &purgeRuns{runs: []ledger.Run{night(time.Hour, ledger.Succeeded)}}
			w.Check(t.Context())
			if w.Warning() != "" {
				t.Errorf("after a success: %q", w.Warning())
			}
		})
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
