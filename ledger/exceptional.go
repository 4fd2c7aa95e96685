package ledger

import "slices"

// Exceptional lists the finished states other than Succeeded. A store may keep an
// index of the runs in them.
var Exceptional = States[len(Unfinished)+1:]

// ExceptionalState returns the one exceptional state that the filter selects, by state
// or by reason; "" if it selects several, or other states.
func (f Filter) ExceptionalState() State {
	state := f.Reason.State()
	if state == "" && len(f.States) == 1 {
		state = f.States[0]
	}
	if !slices.Contains(Exceptional, state) {
		return ""
	}
	return state
}
