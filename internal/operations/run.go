package operations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/clocks"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Run is a run as every interface shows it. Times are RFC 3339, UTC; scheduled times
// have whole seconds, actual times milliseconds.
type Run struct {
	RunID       string         `json:"runId"`
	JobID       string         `json:"jobId"`
	ScheduledAt string         `json:"scheduledAt"`
	Until       string         `json:"until,omitempty"` // of a range row: its last scheduled time
	Count       int            `json:"count"`           // of scheduled times; more than 1: it is a range row
	Trigger     ledger.Trigger `json:"trigger"`
	State       ledger.State   `json:"state"`
	Reason      ledger.Reason  `json:"reason"`
	Attempts    int            `json:"attempts"`
	AcceptedAt  string         `json:"acceptedAt,omitempty"` // of long work
	Progress    string         `json:"progress,omitempty"`   // of long work, as the target tells it
	Replayed    bool           `json:"replayed"`             // it succeeded by a stored answer
	Status      int            `json:"status,omitempty"`     // of HTTP, of the last answer
	NextAt      string         `json:"nextAt,omitempty"`     // not sent before it; empty: finished or fanned out
	Waiting     *Waiting       `json:"waiting,omitempty"`
	SendBefore  string         `json:"sendBefore,omitempty"` // nothing is sent at or after it; a redrive sets it again
	// KeySafeUntil is the time until which the run can be redriven: its target keeps the key that long.
	KeySafeUntil string `json:"keySafeUntil,omitempty"`
	PlannedAt    string `json:"plannedAt,omitempty"`
	StartedAt    string `json:"startedAt,omitempty"`
	FinishedAt   string `json:"finishedAt,omitempty"`
	AckedAt      string `json:"ackedAt,omitempty"`
	RerunID      string `json:"rerunId,omitempty"` // the run that repeats it as new work
	By           string `json:"by,omitempty"`      // who last acted on it by hand
	Why          string `json:"why,omitempty"`
	// Parent and Member are a member's parent and key in its list. MemberCount is the number of members of a parent, once its
	// list is frozen.
	Parent      string `json:"parent,omitempty"`
	Member      string `json:"member,omitempty"`
	MemberCount int    `json:"memberCount,omitempty"`
}

// Waiting says why a planned or retrying run is not being sent.
type Waiting struct {
	Code ledger.WaitCode `json:"code"`
	Text string          `json:"text,omitempty"`
}

// String returns the code and the text; "" for a nil Waiting.
func (w *Waiting) String() string {
	if w == nil {
		return ""
	}
	return ledger.WaitReason{Code: w.Code, Text: w.Text}.String()
}

// RunDetail is a run with its call, its attempts and the actions of operators. Headers, Body and excerpts are empty for
// callers who may not see them.
type RunDetail struct {
	Run
	Target string `json:"target"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Key is the idempotency key and KeyHeader the field that carries it, if they are
	// not the run ID and Idempotency-Key.
	Key       string `json:"key,omitempty"`
	KeyHeader string `json:"keyHeader,omitempty"`
	// Headers and Body are what the run sends, frozen when it was planned.
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	History []Attempt         `json:"history"`
	Audit   []AuditEntry      `json:"audit"` // oldest first
	// Deliveries are the pings of the run, and the notifications of its incidents.
	Deliveries []Delivery `json:"deliveries,omitempty"`
	// Members counts a parent's members by state: see MemberStates.
	Members map[ledger.State]int `json:"members,omitempty"`
}

// RunOf shows a run of the ledger to the caller of the context, without what that may not see.
func RunOf(ctx context.Context, r ledger.Run) Run {
	v := Run{
		RunID: r.ID, JobID: r.JobID, ScheduledAt: TimeText(r.ScheduledAt), Until: TimeText(r.Until),
		Count: r.Count, Trigger: r.Trigger, State: r.State, Reason: r.Reason, Attempts: r.Attempt,
		Replayed: r.Replayed, Status: r.Status, SendBefore: TimeText(r.SendBefore), KeySafeUntil: TimeText(r.KeySafeUntil),
		PlannedAt: actualTime(r.PlannedAt), StartedAt: actualTime(r.StartedAt), FinishedAt: actualTime(r.FinishedAt),
		AcceptedAt: actualTime(r.AcceptedAt), AckedAt: actualTime(r.AckedAt), RerunID: r.RerunID, By: r.By, Why: r.Why,
		Parent: r.Parent, MemberCount: r.Fan.Members,
	}
	if access.SeesBodies(ctx) {
		v.Progress = r.Progress
	}
	if r.Parent != "" {
		v.Member = r.Call.MemberKey
	}
	if !r.State.Finished() {
		if r.State != ledger.FannedOut { // its NextAt is the next look at its members
			v.NextAt = actualTime(r.NextAt)
		}
		if r.WaitReason.Code != "" {
			v.Waiting = &Waiting{r.WaitReason.Code, r.WaitReason.Text}
		}
	}
	return v
}

func runsOf(ctx context.Context, runs []ledger.Run) []Run {
	out := make([]Run, len(runs))
	for i, r := range runs {
		out[i] = RunOf(ctx, r)
	}
	return out
}

// TimeText writes a scheduled time, in whole seconds: RFC 3339, UTC; "" for the zero time.
func TimeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// actualTime writes the time of something that happened, in milliseconds; "" for the zero time.
func actualTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clocks.Milliseconds(t)
}

// Page sizes of lists.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// RunPage is a page of runs, newest scheduled time first.
type RunPage struct {
	Runs []Run `json:"runs"`
	// Next continues the list; nil after its last row.
	Next *ledger.Cursor `json:"-"`
}

// Runs lists a page of the runs of selected jobs, with why those that wait do. A
// selection of what nobody knows is refused.
func (s *Service) Runs(ctx context.Context, sel Selection, f ledger.Filter) (RunPage, error) {
	if err := CheckSpan(f.Since, f.Until); err != nil {
		return RunPage{}, err
	}
	if err := s.Narrow(ctx, sel, &f); err != nil {
		return RunPage{}, err
	}
	size := cmp.Or(f.Limit, DefaultPage)
	f.Limit = size + 1 // one more tells whether there is a next page
	runs, err := s.ledger.List(ctx, f)
	if err == nil && len(runs) == 0 && f.Before == nil {
		err = s.KnownJob(ctx, f.JobID)
	}
	if err != nil {
		return RunPage{}, err
	}
	var page RunPage
	if len(runs) > size {
		runs = runs[:size]
		last := runs[size-1]
		page.Next = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	}
	waiters := make([]*ledger.Run, len(runs))
	for i := range runs {
		waiters[i] = &runs[i]
	}
	err = s.AddWaiting(ctx, waiters...)
	page.Runs = runsOf(ctx, runs)
	return page, err
}

// Run shows one run, by its ID or its key; see FindRun.
func (s *Service) Run(ctx context.Context, idOrKey string) (RunDetail, error) {
	id, err := s.FindRun(ctx, idOrKey)
	if err != nil {
		return RunDetail{}, err
	}
	r, attempts, err := s.ledger.Get(ctx, id)
	if err != nil {
		return RunDetail{}, s.notFound(ctx, id, err)
	}
	if err := s.AddWaiting(ctx, &r); err != nil {
		return RunDetail{}, err
	}
	audit, err := s.auditOfRun(ctx, id)
	if err != nil {
		return RunDetail{}, err
	}
	deliveries, err := s.RunDeliveries(ctx, r)
	if err != nil {
		return RunDetail{}, err
	}
	var counts map[ledger.State]int
	if r.Fan.Frozen() {
		if counts, err = s.MemberCounts(ctx, id); err != nil {
			return RunDetail{}, err
		}
	}
	v := RunDetail{Members: counts, Deliveries: deliveries, Run: RunOf(ctx, r), Target: r.Call.Target, Method: r.Call.Method, Path: r.Call.Path,
		History: []Attempt{}, Audit: audit}
	sees := access.SeesBodies(ctx)
	if sees {
		v.Headers, v.Body = r.Call.Headers, r.Call.Body
	}
	if k := KeyOf(r); k.Value != r.ID || k.Header != jobs.HeaderIdempotencyKey {
		v.Key, v.KeyHeader = k.Value, k.Header
	}
	for _, at := range attempts {
		if !sees {
			at.Excerpt = ""
		}
		v.History = append(v.History, attemptOf(at))
	}
	return v, nil
}

// notFound says what to do about a run ID that the ledger does not have.
func (s *Service) notFound(ctx context.Context, id string, err error) error {
	if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	why := s.missing(ctx, id)
	if why == "" {
		why = `it has no row of its own ("cronce runs list" shows those that have), was purged, or was never planned`
	}
	return refuse(UnknownRun, "the ledger has no run %q: %s", id, why)
}

// missing says why the ledger cannot have a run ID: its job is unknown. It returns "" if the job is known.
func (s *Service) missing(ctx context.Context, id string) string {
	if unknown, is := errors.AsType[*Error](s.KnownJob(ctx, ledger.JobOf(id))); is {
		return unknown.Message
	}
	return ""
}

// AddWaiting sets the WaitReason of those of the runs that are not being sent. A row does not have it: the ledger
// derives it at the time of the question.
func (s *Service) AddWaiting(ctx context.Context, runs ...*ledger.Run) error {
	var ids []string
	for _, r := range runs {
		if slices.Contains(ledger.MayWait, r.State) {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	why, err := s.ledger.Waiting(ctx, ids)
	for _, r := range runs {
		r.WaitReason = why[r.ID]
	}
	return err
}

// StateText returns the state and, for a range row, the number of scheduled times that it stands for.
func (r Run) StateText() string {
	if r.Count > 1 {
		return fmt.Sprintf("%s (%d times)", r.State, r.Count)
	}
	return string(r.State)
}
