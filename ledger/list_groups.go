package ledger

import (
	"cmp"
	"context"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// RunGroup is runs of a job that are alike: of one target, state, reason and status.
type RunGroup struct {
	JobID, Target  string
	State          State
	Reason         Reason
	Status         int // HTTP status of the last answer; 0: none, or that of a list of members
	Rows           int
	Count          int       // of scheduled times
	Newest, Oldest Cursor    // of the runs
	First, Last    time.Time // FinishedAt of the first and of the last that finished; zero: none
	// KeySafeUntil is the latest of the runs; see KeyUnsafe.
	KeySafeUntil time.Time
	KeyAlways    bool // the key of one of them is never unsafe
}

// KeyUnsafe reports whether targets may have forgotten the keys of all these runs: see
// Run.KeyUnsafe.
func (g *RunGroup) KeyUnsafe(now time.Time) bool { return !g.KeyAlways && !now.Before(g.KeySafeUntil) }

// GroupOf returns a run as a group.
func GroupOf(r *Row) RunGroup {
	at := Cursor{ScheduledAt: r.ScheduledAt, ID: r.ID}
	return RunGroup{
		JobID: r.JobID, Target: r.Call.Target, State: r.State, Reason: r.Reason, Status: r.Status, Rows: 1, Count: r.Count,
		Newest: at, Oldest: at, First: r.FinishedAt, Last: r.FinishedAt,
		KeySafeUntil: r.keySafeUntil(), KeyAlways: r.keySafeUntil().IsZero() || r.Fan.Frozen(),
	}
}

// Add adds the runs of another group.
func (g *RunGroup) Add(other RunGroup) {
	g.Rows, g.Count, g.KeyAlways = g.Rows+other.Rows, g.Count+other.Count, g.KeyAlways || other.KeyAlways
	g.Last, g.KeySafeUntil = clocks.Later(g.Last, other.Last), clocks.Later(g.KeySafeUntil, other.KeySafeUntil)
	if g.First.IsZero() || !other.First.IsZero() && other.First.Before(g.First) {
		g.First = other.First
	}
	if compareCursors(g.Newest, other.Newest) < 0 {
		g.Newest = other.Newest
	}
	if compareCursors(g.Oldest, other.Oldest) > 0 {
		g.Oldest = other.Oldest
	}
}

func compareCursors(a, b Cursor) int {
	return cmp.Or(a.ScheduledAt.Compare(b.ScheduledAt), strings.Compare(a.ID, b.ID))
}

// Groups groups the runs that List returns, that of the newest run first.
func (l *Ledger) Groups(ctx context.Context, f Filter) ([]RunGroup, error) {
	f.Limit = pageSize(f.Limit, math.MaxInt)
	return read(ctx, l, "group runs", func(tx Tx) (groups []RunGroup, err error) {
		parts, err := tx.Groups(f).Get()
		place := map[RunGroup]int{}
		for _, part := range parts {
			if part.Reason == ReasonMembers {
				part.Status = 0
			}
			alike := RunGroup{JobID: part.JobID, Target: part.Target, State: part.State, Reason: part.Reason, Status: part.Status}
			if i, known := place[alike]; known {
				groups[i].Add(part)
				continue
			}
			place[alike] = len(groups)
			groups = append(groups, part)
		}
		sort.Slice(groups, func(i, k int) bool { return compareCursors(groups[i].Newest, groups[k].Newest) > 0 })
		return groups, err
	})
}
