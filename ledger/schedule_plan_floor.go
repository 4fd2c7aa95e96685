package ledger

import (
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// dueFloor is the NextAt from which due schedules are read. The index by NextAt keeps what a NextAt
// was until it is vacuumed, and nothing is while a transaction reads an old state, as a backup
// does. Each read would return to all of that.
//
// No NextAt is before the time at which it is written. So only a transaction that takes longer
// than floorGrace can write one below the floor, and a full read finds it.
type dueFloor struct {
	mu        sync.Mutex
	templates string
	floor     time.Time // zero: the next read is a full one
	full      time.Time // when the last full read was, on the store's clock
}

const (
	floorGrace    = 10 * time.Second
	fullReadEvery = time.Minute
)

// since returns the NextAt from which the schedules of templates are read.
func (f *dueFloor) since(templates []string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if all := strings.Join(templates, " "); all != f.templates {
		f.templates, f.floor = all, time.Time{}
	}
	return clocks.Later(f.floor, time.Unix(0, 0))
}

// raise raises the floor after a read, which found the first NextAt of each template.
func (f *dueFloor) raise(first map[string]time.Time, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.floor.IsZero() {
		f.full = now
	}
	if now.Before(f.floor) || now.Sub(f.full) >= fullReadEvery { // the clock was set back, or it is time
		f.floor = time.Time{}
		return
	}
	next := now
	for _, at := range first {
		next = clocks.Earlier(next, at)
	}
	f.floor = clocks.Later(f.floor, next.Add(-floorGrace))
}
