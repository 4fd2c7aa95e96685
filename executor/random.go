package executor

import (
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"
)

// random makes an executor's lease tokens and jitter.
type random struct {
	mu     sync.Mutex
	source rand.Source // nil: the unpredictable source of the system
}

// token returns the token of a lease, fresh each time.
func (d *random) token() string {
	if d.source == nil {
		return uuid.NewString()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var u uuid.UUID
	for i := range u {
		u[i] = byte(d.source.Uint64())
	}
	return u.String()
}

// float64 returns a number in [0,1).
func (d *random) float64() float64 {
	if d.source == nil {
		return rand.Float64()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return rand.New(d.source).Float64()
}
