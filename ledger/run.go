package ledger

import (
	"bytes"
	"encoding/json"
	"time"
)

// Run is one row of the ledger: a run, or (Count > 1) a range of scheduled times that
// are in one state for one reason. All times are UTC. A zero time means "not yet".
type Run struct {
	ID          string // the run ID; a range row's is "<job>@<first>/<last>"
	JobID       string
	Parent      string    // of a member: the run ID of its parent; see Each
	ScheduledAt time.Time // the scheduled time, whole seconds; a range's first
	Until       time.Time // a range's last scheduled time; zero for a run
	Count       int       // scheduled times it stands for; 1 for a run
	Trigger     Trigger
	State       State
	Reason      Reason   // set in dead, skipped, missed, superseded, canceled
	Revision    int64    // the job's revision that planned it; 0 for ~ runs
	Call        CallSpec // frozen at admission

	Attempt  int  // number of the latest attempt sent, or perhaps sent
	Failures int  // attempts that used up the retry budget
	Replayed bool // the final answer was a stored one
	Status   int  // HTTP status of the latest answer; 0 when there was none

	NextAt     time.Time  // planned, retrying and accepted: not before this; fanned out: the next look at its members
	WaitReason WaitReason // planned: why it was given back unsent; cleared by its next lease, or when it ends
	AcceptedAt time.Time  // when the target first answered 202; zero: it has not, since the last redrive or backfill
	Progress   string     // what it said of its progress last; at most ProgressLimit bytes
	SendBefore time.Time  // nothing is sent at or after it; set at the first lease, and again by a redrive
	// KeySafeUntil is when the target may begin to forget the run's key. A redrive moves
	// SendBefore, up to here. Set at the first lease; zero: it is SendBefore.
	KeySafeUntil time.Time

	LeasedBy    string // running: the process that holds the lease
	LeasedUntil time.Time

	PlannedAt  time.Time // actual time of admission
	StartedAt  time.Time // actual time of the first lease
	FinishedAt time.Time // actual time of the final outcome
	AckedAt    time.Time // when an operator acknowledged the dead run

	Fan Fan // of a parent: its members

	RerunID string // the run that repeats this one as new work, the latest; "" when none does

	By  string // who last acted on it by hand; the audit has every action
	Why string // and their reason
}

// CallSpec has the request that a run sends, and the rules under which it is sent again. It is
// frozen in the run's row at admission: a retry after an edit of the registry, by whichever
// process, is byte-identical.
type CallSpec struct {
	Target      string          `json:"target"`
	Method      string          `json:"method"`
	Path        string          `json:"path"`
	Body        json.RawMessage `json:"body,omitempty"`
	ContentType string          `json:"contentType,omitempty"` // of the body; empty: application/json
	Scopes      []string        `json:"scopes,omitempty"`
	// KeyHeader and KeyForm are those of jobs.Key: how the target takes the run's key.
	KeyHeader string `json:"keyHeader,omitempty"`
	KeyForm   string `json:"keyForm,omitempty"`
	// Headers are the job's own header fields; do not modify those that a store
	// returned: they are shared.
	Headers map[string]string `json:"headers,omitempty"`
	Timeout time.Duration     `json:"timeout"` // of one attempt
	// Backoff, Jitter, MaxRetryAfter and Horizon mean the same as in jobs.Retry, with the
	// defaults applied. A Jitter of 0 is none.
	Backoff       []time.Duration `json:"backoff"`
	Jitter        float64         `json:"jitter"`
	MaxRetryAfter time.Duration   `json:"maxRetryAfter"`
	Horizon       time.Duration   `json:"horizon"`
	// KeySafeFor is the time after its first lease for which a run's key is safe, so that the run can
	// be redriven; 0: as long as Horizon.
	KeySafeFor  time.Duration `json:"keySafeFor,omitempty"`
	MaxInFlight int           `json:"maxInFlight,omitempty"` // of the job; 0: no limit of its own
	// Within is the time after its first 202 in which the target may continue the work; 0: a 202
	// is a success, as is any other 2xx. Poll is the wait before the next request if
	// the answer has no Retry-After.
	Within time.Duration `json:"within,omitempty"`
	Poll   time.Duration `json:"poll,omitempty"`
	// Delay is how long after its scheduled time the run starts because of its job's
	// spread. Runs that are not of the schedule have none, except that a rerun copies
	// it.
	Delay time.Duration `json:"delay,omitempty"`
	// StartWithin and FinishWithin are how long after its scheduled time and the delay
	// a run may take to its first lease and to its end before it is late; 0: any time.
	StartWithin  time.Duration `json:"startWithin,omitempty"`
	FinishWithin time.Duration `json:"finishWithin,omitempty"`
	// Each makes the run a parent: its own attempts fetch the list of its members. MemberKey is a
	// member's key, as the list has it.
	Each      *Each  `json:"each,omitempty"`
	MemberKey string `json:"key,omitempty"`
	// Heartbeat says that the job's heartbeat is pinged at this run's start and end.
	Heartbeat bool `json:"heartbeat,omitempty"`
	// AckEarlier says that the run's success acknowledges its job's dead runs of earlier
	// scheduled times.
	AckEarlier bool `json:"ackEarlier,omitempty"`
}

// keySafeFor returns how long after its first lease the run's key is safe.
func (c *CallSpec) keySafeFor() time.Duration { return microsecond(max(c.Horizon, c.KeySafeFor)) }

// AnswerKind classifies the answer to one attempt. The Caller decides it, and the outcome follows
// from it: see outcomeOf in package executor.
type AnswerKind string

// The kinds of answers.
const (
	AnswerFresh      AnswerKind = "fresh"       // 2xx, the effect was made now
	AnswerReplayed   AnswerKind = "replayed"    // 2xx, a stored answer: the effect was made before
	AnswerAccepted   AnswerKind = "accepted"    // 202: accepted, and not completed; uses no retry
	AnswerInProgress AnswerKind = "in_progress" // an earlier call still runs; uses no retry
	AnswerThrottled  AnswerKind = "throttled"   // 429 or 503
	AnswerFailed     AnswerKind = "failed"      // 408, 425, 407 of a proxy, another 5xx, or no connection
	AnswerRefused    AnswerKind = "refused"     // a final 3xx or 4xx, or a call that can never be sent
	AnswerUnknown    AnswerKind = "unknown"     // timeout or broken connection: the effect may have been made
	AnswerLost       AnswerKind = "lost"        // the lease expired, or a cancel came first; the call may have been sent
)

// Attempt is one call that was made, or may have been made, for a run. Code, Error and
// Detail may hold any bytes that a target sent. A store replaces bytes that it cannot
// keep by U+FFFD, and never fails for them.
type Attempt struct {
	RunID      string
	N          int // 1 and up
	StartedAt  time.Time
	FinishedAt time.Time
	Answer     AnswerKind
	Status     int    // 0: no response
	Code       string // the problem code of the answer, if it had one
	Error      string // what went wrong; never a secret, never a body
	Detail     string // a built-in job's report (JSON); empty for calls over HTTP
	Excerpt    string // when it is read: what the answer said, where an Excerpt is kept
	Process    string // the process that made it
}

// ProgressLimit is the number of bytes of its progress that a run's row keeps.
const ProgressLimit = 1000

// ProgressText returns a JSON value as a progress: a string as it is, null and
// nothing as "", any other value as JSON.
func ProgressText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil { // null leaves it empty
		return text
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, value) // it is a part of valid JSON, or empty
	return compact.String()
}

// StorableProgress returns a progress as a run's row stores it: valid UTF-8 without
// NUL, and cut to ProgressLimit.
func StorableProgress(s string) string { return StorableText(s, ProgressLimit) }

// Excerpt is the text of a failing answer, of a target whose registry has it kept. It has a
// row of its own, which the purge deletes at its time, whatever becomes of the run.
type Excerpt struct {
	RunID     string
	N         int // the attempt
	Text      string
	KeepUntil time.Time
}

// ExcerptLimit is the number of bytes of an answer that are kept.
const ExcerptLimit = 1 << 10

// StorableExcerpt returns a text as an Excerpt has it: valid UTF-8 without NUL, and cut to
// ExcerptLimit.
func StorableExcerpt(s string) string { return StorableText(s, ExcerptLimit) }

// excerpt returns what the outcome's attempt keeps of its answer; false: nothing.
func (o *Outcome) excerpt(now time.Time) (Excerpt, bool) {
	e := Excerpt{o.RunID, o.Attempt.N, StorableExcerpt(o.Excerpt), now.Add(microsecond(o.KeepExcerpt))}
	return e, e.N > 0 && e.Text != "" && o.KeepExcerpt > 0
}

// addExcerpts adds to the attempts of a run what is still to be kept of their answers.
func addExcerpts(tx Tx, attempts []Attempt, excerptsFuture Future[[]Excerpt]) error {
	list, err := excerptsFuture.Get()
	if err != nil || len(list) == 0 {
		return err
	}
	now, err := tx.Now()
	for _, e := range list {
		for i := range attempts {
			if attempts[i].N == e.N && now.Before(e.KeepUntil) {
				attempts[i].Excerpt = e.Text
			}
		}
	}
	return err
}
