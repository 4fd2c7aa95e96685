package ledger

import "strings"

// WaitReason is why a planned or retrying run is not being sent. Waiting returns those of the
// runs that are asked for, by run ID.
type WaitReason struct {
	Code WaitCode
	Text string // for a person; never a secret. At most WaitTextLimit bytes are kept
}

// WaitTextLimit is the number of bytes of the text of a WaitReason that a run's row keeps.
const WaitTextLimit = 300

// WaitCode names a WaitReason. The codes are stable.
type WaitCode string

// Wait codes that a process stores when it cannot send a run and gives its lease back.
// They stay in the run's row until its next lease. While the run's wait has not passed,
// Waiting also returns those of a target for its runs that are due and not leased; the
// text then names the run that was given back.
const (
	WaitNoToken             WaitCode = "no_token"              // the token endpoint gave no token
	WaitBreakerOpen         WaitCode = "breaker_open"          // the target's last calls all failed
	WaitTargetNotConfigured WaitCode = "target_not_configured" // the process does not have the run's target
	WaitNotSent             WaitCode = "not_sent"              // another cause, in the text
)

// Wait codes that Waiting computes from other rows.
const (
	WaitSlotTaken    WaitCode = "slot_taken"    // another run of the job has its slot
	WaitLimitReached WaitCode = "limit_reached" // as many runs of the job are running as may
	WaitNoProcess    WaitCode = "no_process"    // no live process works on the ledger
	WaitNotDue       WaitCode = "not_due"       // its time, or its retry's, has not come
	WaitTargetHeld   WaitCode = "target_held"   // nothing is sent to its target until a time: see PauseHold
	WaitQueued       WaitCode = "queued"        // due and not leased: no process has room for it
)

// WaitCodes lists every code.
var WaitCodes = []WaitCode{WaitNoToken, WaitBreakerOpen, WaitTargetNotConfigured, WaitNotSent,
	WaitSlotTaken, WaitLimitReached, WaitNoProcess, WaitNotDue, WaitTargetHeld, WaitQueued}

// OfTarget reports whether the reason holds for all runs of the run's target. The
// index runs_held of the databases leaves the other codes out.
func (w WaitReason) OfTarget() bool {
	return w.Code == WaitNoToken || w.Code == WaitBreakerOpen || w.Code == WaitTargetNotConfigured
}

// Storable returns the reason as a run's row stores it: valid UTF-8 without NUL, and
// cut to WaitTextLimit.
func (w WaitReason) Storable() WaitReason {
	w.Text = StorableText(w.Text, WaitTextLimit)
	return w
}

// StorableText returns a text from outside as every store can keep it: valid UTF-8 without
// NUL, and cut to limit bytes.
func StorableText(s string, limit int) string {
	s = s[:min(len(s), limit)]
	if clean := strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD"); clean != s {
		return strings.ToValidUTF8(clean[:min(len(clean), limit)], "") // a replacement may be longer than what it replaces
	}
	return s
}

// String returns the code and the text, as stores keep them in one column. It is ""
// for the zero value.
func (w WaitReason) String() string {
	if w.Text == "" {
		return string(w.Code)
	}
	return string(w.Code) + ": " + w.Text
}

// ParseWaitReason returns the reason that String wrote.
func ParseWaitReason(s string) WaitReason {
	code, text, _ := strings.Cut(s, ": ")
	return WaitReason{WaitCode(code), text}
}
