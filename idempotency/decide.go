package idempotency

import "github.com/cronce/cronce/idempotency/store"

// decision is what a call does after a look at its key.
type decision int

const (
	doWork   decision = iota // the key is free and ours
	replay                   // a reply is stored
	mismatch                 // another payload has the key
	inFlight                 // somebody else holds the key
	unknown                  // an external call was made and lost
	tooLate                  // the key is free, but perhaps only forgotten
	accepted                 // long work goes on under the key
)

// decide is the one decision order, for every entry point. An expired record is no
// record. A stored reply is given even to a call that comes too late: nothing
// is done for it, and it learns the truth.
func decide(l store.KeyStatus, c store.Claim) decision {
	switch r := l.Record; {
	case r != nil && r.Fingerprint != c.Fingerprint:
		return mismatch
	case r != nil && (r.State == store.StateAccepted || r.State == store.StateCalling && !l.LeaseExpired):
		return inFlight
	case r != nil && (r.State == store.StateCalling || r.State == store.StateUnknown):
		return unknown
	case r != nil:
		return replay
	case !l.Held:
		return inFlight
	case l.TooLate:
		return tooLate
	default:
		return doWork
	}
}

// decideLong is the decision for long work, of a look that took nothing. Work whose
// lease has lapsed can be started again.
func decideLong(l store.KeyStatus, c store.Claim) decision {
	switch r := l.Record; {
	case r != nil && (r.Fingerprint != c.Fingerprint || r.State != store.StateAccepted):
		return decide(l, c)
	case r != nil && !l.LeaseExpired:
		return accepted
	case l.TooLate:
		return tooLate
	default:
		return doWork
	}
}

// answer is what the caller is told when no work is to be done.
func (v decision) answer(l store.KeyStatus) (Reply, bool, error) {
	switch v {
	case replay:
		return l.Record.Reply, true, nil
	case mismatch:
		return Reply{}, false, ErrMismatch
	case unknown:
		return Reply{}, false, ErrOutcomeUnknown
	case tooLate:
		return Reply{}, false, ErrTooLate
	default:
		return Reply{}, false, ErrInProgress
	}
}
