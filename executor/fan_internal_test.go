package executor

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// unavailable is a ledger that releases no members.
type unavailable struct{ Ledger }

func (unavailable) ReleaseMembers(context.Context, ledger.ReleaseRequest) (ledger.Released, error) {
	return ledger.Released{}, ledger.ErrUnavailable
}

// The parent is checked again after the failure, and its members are leased as before: while they
// are, a parent without more members is not checked after each of them.
func TestAFailedReleaseKeepsTheLeasedMembers(t *testing.T) {
	client := newLedgerClient(Config{Ledger: unavailable{}, Observer: NopObserver{}, Logger: slog.New(slog.DiscardHandler), now: time.Now}, &random{})
	parent := &fanned{hasMore: true, leased: 2, changed: true}
	f := releaser{ledger: client, work: newWorkset(8, noLimit, time.Now), parents: map[string]*fanned{"p": parent}}
	f.release(t.Context())
	if !parent.changed || parent.leased != 2 {
		t.Errorf("after the failure %d members are leased, want 2; to be checked again: %t", parent.leased, parent.changed)
	}
}
