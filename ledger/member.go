package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
)

// A run whose call has Each is a parent. Its own attempts fetch a list. Each item's key makes
// a member: a run of its own, with its own key, retries and outcome.
//
//   - The list is frozen in parts: see Freeze. The outcome FannedOut makes it final.
//   - A process that has room for members makes the next ones, and leases them: see ReleaseRequest.
//     So no member waits in front of other jobs' runs.
//   - A parent is finished when its members are: succeeded if all of them succeeded, or else
//     dead (members). Only the parent takes the job's slot, can be late, opens incidents and
//     is counted in hours.
//   - A redrive of a parent whose list is frozen makes the members due again that are dead and
//     not acknowledged; a backfill of a canceled one those that are canceled. Neither fetches
//     the list again.

// memberMark is between the job and the member in a member's run ID, which is
// "<job>::<member>@<scheduled time>", with the parent's token if it has one. No job's ID has
// it. The IDs of a job's members are outside of the bounds of RunIDRange.
const memberMark = "::"

// IsMember reports whether a run ID is a member's.
func IsMember(runID string) bool { return strings.Contains(runID, memberMark) }

// ParentOf returns the run ID of a member's parent; "" for a run that is no member.
func ParentOf(runID string) string {
	job, rest, found := strings.Cut(runID, memberMark)
	_, at, timed := cutID(rest)
	if !found || !timed {
		return ""
	}
	return job + "@" + at
}

// IDJob returns the part of a run's ID before its scheduled time, which the tables of an
// engine have as its job. JobOfID returns the job that it belongs to.
func IDJob(r *Run) string {
	if r.Parent == "" {
		return r.JobID
	}
	job, _, _ := cutID(r.ID)
	return job
}

// JobOfID returns the job of an IDJob.
func JobOfID(idJob string) string {
	job, _, _ := strings.Cut(idJob, memberMark)
	return job
}

// Each says how a parent fetches the list of its members, frozen in its Call. The path and the
// body of the Call are those of a member, with placeholders that only a member fills.
type Each struct {
	Path     string `json:"path"`
	Items    string `json:"items,omitempty"`    // where the keys are in the answer
	Max      int    `json:"max"`                // a longer list is refused
	InFlight int    `json:"inFlight,omitempty"` // members at a time; 0: no limit of its own
}

// Fan is the progress of a parent's members. It is zero until the list is frozen, and is stored in
// one column of the parent's row: a redrive or a release changes it under the row's lock.
type Fan struct {
	Members         int    `json:"members"`            // in the frozen list
	Released        int    `json:"released,omitempty"` // members that have a run
	ReleasedThrough string `json:"cursor,omitempty"`   // the last member that has a run
	Done            bool   `json:"done,omitempty"`     // that member is the last of the list
	ReviveState     State  `json:"again,omitempty"`    // members in this state are made due again; "": none
	RevivedThrough  string `json:"after,omitempty"`    // the last member that the pass has reached
	Failed          int    `json:"failed,omitempty"`   // dead and canceled members, when the parent finished
	Canceled        int    `json:"canceled,omitempty"` // of the failed ones
	Purged          bool   `json:"purged,omitempty"`   // the purge has deleted some of the members
}

// Frozen reports whether the list is frozen.
func (f Fan) Frozen() bool { return f.Members > 0 }

// beginPass begins a pass over the members that makes those in a state due again.
func (f *Fan) beginPass(again State) {
	if f.Frozen() {
		f.ReviveState, f.RevivedThrough = again, ""
	}
}

// hasMore reports whether members are left to release.
func (f Fan) hasMore() bool { return !f.Done || f.ReviveState != "" }

// setFailed keeps how many members failed.
func (f *Fan) setFailed(counts map[State]int) {
	f.Failed, f.Canceled = counts[Dead]+counts[Canceled], counts[Canceled]
}

// failedStates are the states of members that failed.
var failedStates = []State{Dead, Canceled}

// counts returns the members of a finished parent by state.
func (f Fan) counts() map[State]int {
	return map[State]int{Succeeded: f.Released - f.Failed, Dead: f.Failed - f.Canceled, Canceled: f.Canceled, "": f.Members - f.Released}
}

// String returns the fan as stores keep it; "" for the zero value.
func (f Fan) String() string {
	if f == (Fan{}) {
		return ""
	}
	text, _ := json.Marshal(f) // texts and numbers cannot fail
	return string(text)
}

// ParseFan returns the fan that String wrote.
func ParseFan(text string) (f Fan, err error) {
	if text == "" {
		return f, nil
	}
	err = json.Unmarshal([]byte(text), &f)
	return f, err
}

// Member is an item of a parent's list.
type Member struct {
	RunID string
	Key   string // as the list has it
}

// countMembers counts members by parent and state, of states other than Succeeded.
func countMembers(tx Tx, parents []string, states []State) (map[string]map[State]int, error) {
	counts, err := tx.CountMembers(parents, states).Get()
	byParent := make(map[string]map[State]int, len(parents))
	for _, id := range parents {
		byParent[id] = map[State]int{}
	}
	for _, c := range counts {
		byParent[c.Parent][c.State] += c.Count
	}
	return byParent, err
}

// newMember returns the row of a member that is due now. It has its parent's call with the
// placeholders filled, without what is the parent's alone: the list, the job's limit, the bounds of
// lateness and the spread.
func newMember(parent *Row, m Member, call CallSpec, now time.Time) Row {
	r := Row{Run: Run{
		ID: m.RunID, JobID: parent.JobID, Parent: parent.ID, ScheduledAt: parent.ScheduledAt, Count: 1,
		Trigger: parent.Trigger, State: Planned, Revision: parent.Revision, Call: call, PlannedAt: now,
	}}
	r.Call.Each, r.Call.MaxInFlight = nil, 0
	if each := parent.Call.Each; each != nil {
		r.Call.MaxInFlight = each.InFlight
	}
	r.Call.StartWithin, r.Call.FinishWithin, r.Call.Heartbeat, r.Call.Delay = 0, 0, false, 0
	r.SetDueAt(now)
	return r
}

// LimitKey returns what limits and turns count a run by: the parent of a member, else the job of
// the registry. The schedules of a template are one job.
func LimitKey(parent, jobID string) string {
	if parent != "" {
		return parent
	}
	return RegistryJobID(jobID)
}

// Freeze adds a part of a parent's list, under the lease of the attempt that fetched it. The
// First part deletes what an earlier attempt has left. Nothing is made due: the outcome
// FannedOut, after the last part, makes the list final. To repeat a part changes nothing. Parts
// of a lost lease change nothing either: Fenced.
type Freeze struct {
	Lease
	First   bool
	Members []Member
}

// MaxMemberKey is the maximum length of a member's key, in bytes.
const MaxMemberKey = 512

// Validate returns ErrInvalidRun for members whose run IDs are not the parent's.
func (f Freeze) Validate() error {
	for _, m := range f.Members {
		if ParentOf(m.RunID) != f.RunID || len(m.RunID) > MaxRunID || !plaintext.VisibleASCII(m.RunID) || strings.Contains(m.RunID, "/") || m.Key == "" ||
			len(m.Key) > MaxMemberKey {
			return fmt.Errorf("%w: %.200q is not a member of %.200q, with a key of 1 to %d bytes", ErrInvalidRun, m.RunID, f.RunID, MaxMemberKey)
		}
	}
	return nil
}

// FreezeMembers writes a part of a list. See Freeze.
func (l *Ledger) FreezeMembers(ctx context.Context, f Freeze) (RecordResult, error) {
	if err := f.Validate(); err != nil {
		return "", err
	}
	return write(ctx, l, "freeze the members of "+f.RunID, func(tx Tx) (RecordResult, error) {
		rows, err := tx.LockRuns([]string{f.RunID}).Get()
		if err != nil || len(rows) == 0 || rows[0].State != Running || rows[0].Token != f.leasedAs() || rows[0].Fan.Frozen() {
			return Fenced, err
		}
		if f.First {
			if err := tx.DropMembers(f.RunID); err != nil {
				return "", err
			}
		}
		return Recorded, tx.PutMembers(f.RunID, f.Members)
	})
}
