package ledger

import "errors"

// ErrFinished is the error of a Report on a finished run.
var ErrFinished = errors.New("the run is finished")

// Report is a target's report on a run that it accepted: how far it is, or that it
// is done. It decides nothing: a run that is done is asked at once instead of at
// its NextAt, and finishes by the target's answer. So a report that is lost,
// repeated or wrong costs at most a wait or a call.
//
// The progress is kept of every unfinished run. Done makes an accepted run due
// now; in every other state it changes nothing, since the run is being asked, or
// has still to be. ErrNotFound: no such run. ErrFinished: nothing was changed.
type Report struct {
	RunID    string
	Progress string // empty: the last one stands
	Done     bool
}
