package ledger

import (
	"fmt"
	"strings"
)

// WaitReason is why a planned or retrying run is not being sent.
type WaitReason struct {
	Code WaitCode
	Text string // for a person; never a secret. At most WaitTextLimit bytes are kept
}

// WaitTextLimit bounds the text that a run's row keeps of a WaitReason.
const WaitTextLimit = 300

// WaitCode names a WaitReason. It is stable.
type WaitCode string

// These come from the process that could not send a run and returned its lease.
// They stay in the run's row until its next lease.
const (
	NoToken       WaitCode = "no_token"              // the token endpoint gave no token
	BreakerOpen   WaitCode = "breaker_open"          // the target's last calls all failed
	NotConfigured WaitCode = "target_not_configured" // the process does not have the run's target
	NotSent       WaitCode = "not_sent"              // another cause, in the text
)

// These follow from other rows, when they are asked for.
const (
	SlotTaken    WaitCode = "slot_taken"    // another run of the job has its slot
	LimitReached WaitCode = "limit_reached" // as many runs of the job are running as may
	NoProcess    WaitCode = "no_process"    // no living process works on the ledger
	NotDue       WaitCode = "not_due"       // its time, or its retry's, has not come
	Queued       WaitCode = "queued"        // due: the next process with room for it takes it
)

// Kept is the reason as a row keeps it: valid UTF-8 without NUL, and cut to
// WaitTextLimit.
func (w WaitReason) Kept() WaitReason {
	w.Text = keptText(w.Text, WaitTextLimit)
	return w
}

// keptText makes a text that came from outside fit for every store.
func keptText(s string, limit int) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), limit)], "\uFFFD"), "\x00", "\uFFFD")
}

// String is the code and the text, as stores keep them in one column; "" for the
// zero value.
func (w WaitReason) String() string {
	if w.Text == "" {
		return string(w.Code)
	}
	return string(w.Code) + ": " + w.Text
}

// ParseWaitReason reads what String wrote.
func ParseWaitReason(s string) WaitReason {
	code, text, _ := strings.Cut(s, ": ")
	return WaitReason{WaitCode(code), text}
}

// Waiter is a store's data about a planned or retrying run that waits.
type Waiter struct {
	Run       Run
	ForSlot   bool   // it waits for its job's slot
	Holder    string // the run that has that slot; "" where it is free
	Due       bool
	Running   int // of its job; needed only where the job has a limit
	Processes int // living
}

// Why returns the first reason why the run is not being sent.
func (w Waiter) Why() WaitReason {
	limit := w.Run.Call.MaxInFlight
	switch {
	case w.Processes == 0:
		return WaitReason{NoProcess, "no process works on this ledger"}
	case w.ForSlot && w.Holder != "":
		return WaitReason{SlotTaken, "run " + w.Holder + " has the job's slot"}
	case w.Run.WaitsFor.Code != "":
		return w.Run.WaitsFor
	case !w.ForSlot && !w.Due:
		return WaitReason{NotDue, ""}
	case limit > 0 && w.Running >= limit:
		return WaitReason{LimitReached, fmt.Sprintf("%d runs of the job are running, and its maxInFlight is %d", w.Running, limit)}
	}
	return WaitReason{Queued, "it is due, and a process takes it once neither --max-in-flight nor its target's maxInFlight is reached"}
}
