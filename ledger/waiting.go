package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// WaitReason says why a planned or retrying run is not being sent. Waiting returns those of the
// runs that are asked for, by run ID.
type WaitReason struct {
	Code WaitCode
	Text string // for a person; never a secret. At most WaitTextLimit bytes are kept
}

// WaitTextLimit is the number of bytes of the text of a WaitReason that a run's row keeps.
const WaitTextLimit = 300

// WaitCode names a WaitReason. The codes are stable: programs may compare them.
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

// Waiting returns why runs are not being sent, by ID, for those of the IDs that are planned
// or retrying.
func (l *Ledger) Waiting(ctx context.Context, ids []string) (map[string]WaitReason, error) {
	why := map[string]WaitReason{}
	if len(ids) == 0 {
		return why, nil
	}
	return read(ctx, l, "read why runs wait", func(tx Tx) (map[string]WaitReason, error) {
		rows, err := tx.Runs(Filter{IDs: ids}).Get()
		rows = slices.DeleteFunc(rows, func(r Row) bool { return !slices.Contains(MayWait, r.State) })
		if err != nil || len(rows) == 0 {
			return why, err
		}
		s, err := readWaits(tx, rows)
		for i := range rows {
			why[rows[i].ID] = s.waitReason(&rows[i])
		}
		return why, err
	})
}

// waits has all that planned and retrying runs may wait for, read once for all runs that are asked for.
type waits struct {
	now           time.Time
	liveProcesses int
	holders       map[string]string // the run that has the slot, by job
	running       map[string]int    // by job, of jobs with a limit
	givenBack     map[string]GivenBack
	pauses        pauses
}

// readWaits reads what the runs may wait for.
func readWaits(tx Tx, rows []Row) (s waits, err error) {
	var limited, targets []string
	for i := range rows {
		targets = append(targets, rows[i].Call.Target)
		if rows[i].Call.MaxInFlight > 0 {
			limited = append(limited, LimitKey(rows[i].Parent, rows[i].JobID))
		}
	}
	processesFuture, slotsFuture := tx.Processes(), tx.Slots(distinctJobs(rows))
	pausesFuture := tx.Pauses(time.Time{})
	runningFuture, givenBackFuture := tx.CountByJob(Running, sortedSet(limited)), tx.GivenBack(sortedSet(targets))
	if s.now, err = tx.Now(); err != nil {
		return s, err
	}
	s.pauses, s.running = take(&err, pausesFuture), take(&err, runningFuture)
	_, s.liveProcesses = liveVersions(take(&err, processesFuture), s.now)
	list := take(&err, slotsFuture)
	s.holders = make(map[string]string, len(list))
	for _, slot := range list {
		s.holders[slot.JobID] = slot.Holder.ID
	}
	givenBack := take(&err, givenBackFuture)
	s.givenBack = make(map[string]GivenBack, len(givenBack))
	for _, g := range givenBack {
		s.givenBack[g.Target] = g
	}
	return s, err
}

// GivenBack is a run that was given back for a cause of its target and whose wait has not
// passed. A process leases nothing for the target until then. If a target has several
// such runs, GivenBack is the run whose wait ends last, then the run with the last ID. The
// zero value means that the target has none.
type GivenBack struct {
	Target string
	RunID  string
	Until  time.Time // the end of its wait
	Why    WaitReason
}

// After reports whether g is to be used instead of o.
func (g GivenBack) After(o GivenBack) bool {
	return g.Until.After(o.Until) || g.Until.Equal(o.Until) && g.RunID > o.RunID
}

// waitReason returns why the other runs of the target wait. The target may have
// recovered since, so the text names its source and until when that holds.
func (g GivenBack) waitReason() WaitReason {
	text := fmt.Sprintf("run %s of the same target was given back until %s", g.RunID, g.Until.UTC().Format(time.RFC3339))
	if g.Why.Text != "" {
		text += ": " + g.Why.Text
	}
	return WaitReason{Code: g.Why.Code, Text: text}
}

// waitReason returns the first reason why the run is not being sent. Several may hold at a time.
func (s *waits) waitReason(r *Row) WaitReason {
	holder, limit, running := s.holders[r.JobID], r.Call.MaxInFlight, s.running[LimitKey(r.Parent, r.JobID)]
	hold := s.pauses.holdOf(r.Call.Target, s.now)
	switch {
	case s.liveProcesses == 0:
		return WaitReason{Code: WaitNoProcess, Text: "no process works on this ledger"}
	case r.Waiting && r.Pace != 0:
		return WaitReason{Code: WaitLimitReached,
			Text: fmt.Sprintf("at most %d backfilled runs of the job run at a time", r.Pace.Parallel())}
	case r.Waiting && holder != "":
		return WaitReason{Code: WaitSlotTaken, Text: "run " + holder + " has the job's slot"}
	case hold != nil:
		return WaitReason{Code: WaitTargetHeld, Text: fmt.Sprintf("%s holds target %s until %s: %s", hold.By, hold.Target,
			hold.Until.UTC().Format(time.RFC3339), hold.Why)}
	case r.WaitReason.Code != "":
		return r.WaitReason
	case !r.Waiting && r.DueAt().After(s.now):
		return WaitReason{Code: WaitNotDue}
	case limit > 0 && running >= limit:
		return WaitReason{Code: WaitLimitReached,
			Text: fmt.Sprintf("the job's maxInFlight of %d is reached: %d running", limit, running)}
	}
	if g := s.givenBack[r.Call.Target]; g.Why.OfTarget() {
		return g.waitReason()
	}
	return WaitReason{Code: WaitQueued,
		Text: "it is due and no process has leased it yet; if this lasts, --max-in-flight or its target's maxInFlight is reached"}
}
