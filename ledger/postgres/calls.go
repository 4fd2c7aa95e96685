package postgres

import "github.com/cronce/cronce/ledger"

// callScanner decodes the column call. Runs of one job, and of jobs that are
// called alike, were frozen with the same bytes: those it decodes once.
type callScanner struct {
	known map[string]ledger.Call
	last  ledger.Call
}

// ScanBytes takes one value; it lasts no longer than the call.
func (s *callScanner) ScanBytes(b []byte) (err error) {
	last, ok := s.known[string(b)]
	if !ok {
		if last, err = decodeCall(b, nil); err != nil {
			return err
		}
		if s.known == nil {
			s.known = map[string]ledger.Call{}
		}
		s.known[string(b)] = last
	}
	s.last = last
	return nil
}
