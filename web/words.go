package web

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// reasons say what a reason means for a run.
var reasons = map[ledger.Reason]string{
	ledger.Exhausted:          "every retry was used and none had a final answer",
	ledger.Permanent:          "the target gave a final answer that a retry cannot change",
	ledger.Unauthorized:       "the target refused a fresh token (401)",
	ledger.PayloadMismatch:    "the target has this key with another payload",
	ledger.KeyExpired:         "its send-before time passed, and the target may have forgotten its key",
	ledger.Overlapped:         "an earlier run of the job was unfinished, and the job's overlap policy is skip",
	ledger.WhilePaused:        "the job was paused",
	ledger.CatchUpNone:        "nothing planned it in time, and the job does not catch up (catchUp: none)",
	ledger.CatchUpWindow:      "nothing planned it until it was older than the job's catchUpWindow",
	ledger.NewerRun:           "nothing planned it in time, and a newer scheduled time stands for it (catchUp: latest)",
	ledger.CanceledByOperator: "an operator canceled it",
}

// sentence says in one sentence what became of a run, and why.
func sentence(r ledger.Run, wait ledger.WaitReason, last *ledger.Attempt) string {
	these := "This run"
	if r.Count > 1 {
		these = fmt.Sprintf("These %s scheduled times", thousands(r.Count))
	}
	switch r.State {
	case ledger.Succeeded:
		if r.Replayed {
			return these + " succeeded: the target answered with the stored answer of an earlier call, so the effect was made once."
		}
		return fmt.Sprintf("%s succeeded with attempt %d.", these, r.Attempt)
	case ledger.Running:
		return fmt.Sprintf("%s is running: attempt %d is with process %s.", these, r.Attempt, r.LeasedBy)
	case ledger.Accepted:
		return these + " was accepted: the target works on it, and is asked again with the same request until it is done."
	case ledger.Retrying:
		return these + " is to be retried under the same key" + answered(last) + waiting(wait)
	case ledger.Planned:
		return these + " is planned" + waiting(wait)
	case ledger.Dead:
		return fmt.Sprintf("%s is dead: %s%s", these, because(r.Reason), answered(last)) + "."
	}
	if r.Reason == "" {
		return fmt.Sprintf("%s %s %s.", these, wasOrWere(r), r.State)
	}
	return fmt.Sprintf("%s %s %s: %s.", these, wasOrWere(r), r.State, because(r.Reason))
}

func because(r ledger.Reason) string {
	if text, ok := reasons[r]; ok {
		return text
	}
	return string(r)
}

func wasOrWere(r ledger.Run) string {
	if r.Count > 1 {
		return "were"
	}
	return "was"
}

func answered(a *ledger.Attempt) string {
	switch {
	case a == nil:
		return ""
	case a.Status > 0:
		return fmt.Sprintf("; the latest answer was %d", a.Status)
	case a.Answer == ledger.Unknown:
		return "; the outcome of the latest attempt is unknown"
	}
	return ""
}

func waiting(w ledger.WaitReason) string {
	switch {
	case w.Code == "" || w.Code == ledger.NotDue:
		return "."
	case w.Text != "":
		return fmt.Sprintf(", and waits: %s.", w.Text)
	}
	return fmt.Sprintf(", and waits (%s).", w.Code)
}

// policies say what a job's settings mean.
var overlapWords = map[jobs.Overlap]string{
	jobs.OverlapSkip:  "skip a scheduled time while an earlier run is unfinished",
	jobs.OverlapQueue: "queue a scheduled time while an earlier run is unfinished",
	jobs.OverlapAllow: "run beside an earlier run",
}

var catchUpWords = map[jobs.CatchUp]string{
	jobs.CatchUpNone:   "none: late scheduled times are missed",
	jobs.CatchUpLatest: "latest: only the newest late scheduled time runs",
	jobs.CatchUpAll:    "all: every late scheduled time runs, oldest first",
}

// short writes a duration for a person, in at most two units: 1h 5m, 2.4s.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + short(-d)
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return twoUnits(d, time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return twoUnits(d, time.Hour, "h", time.Minute, "min")
	}
	return twoUnits(d, 24*time.Hour, "d", time.Hour, "h")
}

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// relative says how far a time is from now in one unit, as the script does.
func relative(t, now time.Time) string {
	gap := t.Sub(now).Round(time.Second)
	var text string
	switch d := gap.Abs(); {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		text = fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		text = fmt.Sprintf("%d min", d/time.Minute)
	case d < 24*time.Hour:
		text = fmt.Sprintf("%d h", d/time.Hour)
	default:
		text = fmt.Sprintf("%d d", d/(24*time.Hour))
	}
	if gap > 0 {
		return "in " + text
	}
	return text + " ago"
}

// plural is "1 run" or "2 runs".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun == "process" {
		return thousands(n) + " processes"
	}
	return thousands(n) + " " + noun + "s"
}
