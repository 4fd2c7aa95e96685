package rollover_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/rollover"
)

var errBroken = errors.New("broken")

// diary is what happened, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Reloading()         { d.note("reloading") }
func (d *diary) Reloaded(err error) { d.note("reloaded: %v", err) }

func (d *diary) is(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("happened:\n\t%s\nwant:\n\t%s", strings.Join(d.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// member takes startup until it is ready, and drain to stop.
type member struct {
	name           string
	startup, drain time.Duration
	fails          chan error
	diary          *diary

	mu    sync.Mutex
	ready bool
}

func (m *member) Run(ctx context.Context) error {
	m.diary.note("%s starts", m.name)
	timer := time.AfterFunc(m.startup, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ready = true
		m.diary.note("%s is ready", m.name)
	})
	defer timer.Stop()
	select {
	case err := <-m.fails:
		m.diary.note("%s fails", m.name)
		return err
	case <-ctx.Done():
	}
	time.Sleep(m.drain)
	m.diary.note("%s has stopped", m.name)
	return nil
}

func (m *member) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ready {
		return errors.New("not yet")
	}
	return nil
}

// bed runs a fleet whose members take 1 s to start and 10 s to stop.
type bed struct {
	diary
	fleet *rollover.Fleet[*member]
	stop  func() error
}

func newBed(t *testing.T, load func(b *bed, m *member) error) *bed {
	b := &bed{}
	n := 0
	next := func() *member {
		n++
		return &member{name: fmt.Sprintf("v%d", n), startup: time.Second, drain: 10 * time.Second, fails: make(chan error, 1), diary: &b.diary}
	}
	first := next()
	b.fleet = rollover.New(first, func() (*member, error) {
		m := next()
		if err := load(b, m); err != nil {
			return nil, err
		}
		return m, nil
	}, &b.diary, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.fleet.Run(ctx) }()
	b.stop = func() error { cancel(); return <-ended }
	time.Sleep(2 * time.Second)
	return b
}

func good(*bed, *member) error { return nil }

// The next member serves before the current one stops, and Run waits for both.
func TestTheNextIsReadyBeforeTheCurrentStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, good)
		b.fleet.Request()
		time.Sleep(5 * time.Second)
		if got := b.fleet.Current().name; got != "v2" || len(b.fleet.Members()) != 2 {
			t.Errorf("%s serves, %d members run; want v2, and v1 still stopping", got, len(b.fleet.Members()))
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.is(t, "v1 starts", "v1 is ready", "reloading", "v2 starts", "v2 is ready", "reloaded: <nil>", "v1 has stopped", "v2 has stopped")
	})
}

func TestWhatCannotBeLoadedReplacesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		b := newBed(t, func(*bed, *member) error {
			if broken {
				return errBroken
			}
			return nil
		})
		b.fleet.Request()
		time.Sleep(5 * time.Second)
		if b.fleet.Current().name != "v1" || !errors.Is(b.fleet.Failure(), errBroken) {
			t.Errorf("%s serves, failure %v", b.fleet.Current().name, b.fleet.Failure())
		}
		broken = false
		b.fleet.Request()
		time.Sleep(5 * time.Second)
		if b.fleet.Current().name != "v3" || b.fleet.Failure() != nil {
			t.Errorf("after the mend %s serves, failure %v", b.fleet.Current().name, b.fleet.Failure())
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatFailsBeforeItIsReadyReplacesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, func(_ *bed, m *member) error { m.fails <- errBroken; return nil })
		b.fleet.Request()
		time.Sleep(5 * time.Second)
		if b.fleet.Current().name != "v1" || !errors.Is(b.fleet.Failure(), errBroken) {
			t.Errorf("%s serves, failure %v", b.fleet.Current().name, b.fleet.Failure())
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.is(t, "v1 starts", "v1 is ready", "reloading", "v2 starts", "v2 fails", "reloaded: stopped before it was ready\nbroken", "v1 has stopped")
	})
}

// However long the next member takes, the current one serves.
func TestTheCurrentServesUntilTheNextIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, func(_ *bed, m *member) error { m.startup = time.Hour; return nil })
		b.fleet.Request()
		time.Sleep(30 * time.Minute)
		if got := b.fleet.Current().name; got != "v1" {
			t.Errorf("%s serves", got)
		}
		if err := b.stop(); err != nil || b.fleet.Failure() != nil {
			t.Errorf("a stop in mid-reload: %v, failure %v", err, b.fleet.Failure())
		}
	})
}

// Requests during a reload lead to one more, whatever their number.
func TestRequestsDuringAReloadAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, good)
		for range 5 {
			b.fleet.Request()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if got := b.fleet.Current().name; got != "v3" {
			t.Errorf("%s serves after one reload and one more", got)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

// What the current member cannot survive ends Run, also in the middle of a reload.
func TestTheCurrentMembersErrorEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, func(_ *bed, m *member) error { m.startup = time.Hour; return nil })
		b.fleet.Request()
		time.Sleep(5 * time.Second)
		b.fleet.Current().fails <- errBroken
		if err := b.stop(); !errors.Is(err, errBroken) {
			t.Errorf("Run returned %v", err)
		}
	})
}
