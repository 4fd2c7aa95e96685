package idempotency

import "github.com/cronce/cronce/idempotency/store"

// decision is the next step of a call after the lookup of its key.
type decision int

const (
	doWork   decision = iota // this call holds the free key
	replay                   // a reply is stored
	mismatch                 // another payload has the key
	inFlight                 // another call holds the key
	unknown                  // the outcome of an external call is unknown
	tooLate                  // the key is free, and may have expired
	accepted                 // long work goes on under the key
)

// decide decides for every entry point. An expired record counts as none. A call that
// comes too late gets a stored reply too, since no work is done for it.
func decide(s store.KeyStatus, c store.Claim) decision {
	switch r := s.Record; {
	case r != nil && r.Fingerprint != c.Fingerprint:
		return mismatch
	case r != nil && (r.State == store.StateAccepted || r.State == store.StateCalling && !s.LeaseExpired):
		return inFlight
	case r != nil && (r.State == store.StateCalling || r.State == store.StateUnknown):
		return unknown
	case r != nil:
		return replay
	case !s.Held:
		return inFlight
	case s.TooLate:
		return tooLate
	default:
		return doWork
	}
}

// decideLong decides for long work, after a lookup that did not claim the key. Work whose
// lease has expired can be started again.
func decideLong(s store.KeyStatus, c store.Claim) decision {
	switch r := s.Record; {
	case r != nil && (r.Fingerprint != c.Fingerprint || r.State != store.StateAccepted):
		return decide(s, c)
	case r != nil && !s.LeaseExpired:
		return accepted
	case s.TooLate:
		return tooLate
	default:
		return doWork
	}
}

// answer is what the caller is told when no work is to be done.
func (d decision) answer(s store.KeyStatus) (Reply, bool, error) {
	switch d {
	case replay:
		return s.Record.Reply, true, nil
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
