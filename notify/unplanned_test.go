package notify_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/notify"
)

// The look says what no run shows, and takes it back.
func TestJobsThatNoProcessPlansAndAnOverduePurgeAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, memory.New())
		body, hash, err := s.registry.Jobs()[0].Definition()
		if err != nil {
			t.Fatal(err)
		}
		declare := ledger.Declaration{Process: "p", Registry: "acme", Version: "v", Definitions: func(yield func(ledger.Definition) bool) {
			yield(ledger.Definition{JobID: "j", Hash: hash, Body: body})
		}}
		if err := s.Declare(t.Context(), declare); err != nil {
			t.Fatal(err)
		}
		list, err := s.Assignments(t.Context(), "v", "")
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		overdue := true
		w := notify.NewNotifier(notify.Config{
			Registry: s.registry, Ledger: s.Store, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
			Purge: func(context.Context) (time.Time, bool, error) { return time.Time{}, overdue, nil },
		})
		look := func(after time.Duration) (open []string) {
			time.Sleep(after)
			if _, err := w.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.deliver()
			list, err := s.Incidents(t.Context(), ledger.IncidentFilter{Open: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range list {
				open = append(open, i.JobID+" "+string(i.Cause))
			}
			return open
		}
		if open := look(0); len(open) != 0 {
			t.Errorf("open at the start: %q; a process that begins has to plan first", open)
		}
		if open := look(2 * time.Minute); strings.Join(open, ", ") != "purge-expired-keys overdue" {
			t.Errorf("open: %q", open)
		}
		overdue = false
		if open := look(10 * time.Minute); strings.Join(open, ", ") != "j unplanned" {
			t.Errorf("open: %q", open)
		}
		p := list[0].Position
		if _, err := s.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{{JobID: "j", Revision: p.Revision, After: p.Watermark, Through: time.Now().UTC()}}, Token: "t"}); err != nil {
			t.Fatal(err)
		}
		if open := look(time.Minute); len(open) != 0 {
			t.Errorf("open: %q", open)
		}
		s.Store.(*memory.Ledger).ShiftClock(-time.Hour)
		if open := look(time.Minute); strings.Join(open, ", ") != "j unplanned" {
			t.Errorf("open while the job is planned ahead of the ledger's clock: %q", open)
		}
		s.Store.(*memory.Ledger).ShiftClock(time.Hour)
		if open := look(time.Minute); len(open) != 0 {
			t.Errorf("open: %q", open)
		}
	})
}

// dated keeps when incidents were looked for.
type dated struct {
	ledger.Store
	began time.Time
	at    []time.Duration
}

func (d *dated) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	d.at = append(d.at, time.Since(d.began))
	return d.Store.Incidents(ctx, f)
}

// Processes that start together look for incidents one after the other.
func TestWatchesThatStartTogetherLookApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, memory.New())
		ctx, cancel := context.WithTimeout(t.Context(), 3*notify.CheckEvery-time.Millisecond)
		defer cancel()
		var looks [2]dated
		var group sync.WaitGroup
		for i := range looks {
			looks[i] = dated{Store: s.Store, began: time.Now()}
			w := notify.NewNotifier(notify.Config{
				Registry: s.registry, Ledger: &looks[i], Logger: slog.New(slog.DiscardHandler), Now: time.Now, Offset: time.Duration(i) * 2 * time.Second,
			})
			group.Go(func() { w.Run(ctx) })
		}
		group.Wait()
		for i, want := range []string{"[0s 5s 10s]", "[2s 7s 12s]"} {
			if got := fmt.Sprint(looks[i].at); got != want {
				t.Errorf("watch %d looked at %s, want %s", i, got, want)
			}
		}
	})
}
