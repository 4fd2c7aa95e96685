package ledger

import (
	"encoding/json"
	"fmt"
	"time"
)

// Tally counts runs by what became of them. Tallies add up.
type Tally struct {
	// Counts has the scheduled times that have rows of their own.
	Counts map[State]int `json:"counts,omitempty"`
	// Ranges has the scheduled times of range rows. All of a row's are counted where its
	// first one is: a store does not know the others.
	Ranges map[State]int `json:"ranges,omitempty"`
	// AdHoc has the ~ runs.
	AdHoc map[State]int `json:"adHoc,omitempty"`
	// Lateness has the time from ScheduledAt plus Call.Delay to StartedAt, of the runs
	// of the schedule (BySchedule, ByCatchUp).
	Lateness Histogram `json:"lateness,omitempty"`
	// Durations has the time from StartedAt to FinishedAt, of the succeeded runs. Took is
	// their sum.
	Durations Histogram     `json:"durations,omitempty"`
	Took      time.Duration `json:"took,omitempty"`
}

// ByState returns the counts of all rows together.
func (t *Tally) ByState() map[State]int {
	all := map[State]int{}
	for _, counts := range []map[State]int{t.Counts, t.Ranges, t.AdHoc} {
		addCounts(&all, counts, 1)
	}
	return all
}

// Add adds the counts of another tally.
func (t *Tally) Add(other Tally) { t.add(other, 1) }

// add adds the counts of another tally, or with -1 takes them off.
func (t *Tally) add(other Tally, sign int) {
	addCounts(&t.Counts, other.Counts, sign)
	addCounts(&t.Ranges, other.Ranges, sign)
	addCounts(&t.AdHoc, other.AdHoc, sign)
	addCounts((*map[int]int)(&t.Lateness), other.Lateness, sign)
	addCounts((*map[int]int)(&t.Durations), other.Durations, sign)
	t.Took += time.Duration(sign) * other.Took
}

// addCounts adds counts, and leaves out what is 0 then.
func addCounts[K comparable](to *map[K]int, counts map[K]int, sign int) {
	for k, n := range counts {
		if *to == nil {
			*to = make(map[K]int, len(counts))
		}
		if (*to)[k] += sign * n; (*to)[k] == 0 {
			delete(*to, k)
		}
	}
}

// empty reports whether nothing is counted.
func (t *Tally) empty() bool { return len(t.Counts)+len(t.Ranges)+len(t.AdHoc) == 0 }

// encode returns the tally as a HourRow has it.
func (t *Tally) encode() (string, error) {
	if t.empty() {
		return "", nil
	}
	text, err := json.Marshal(t)
	return string(text), err
}

func decodeTally(text string) (t Tally, err error) {
	if text == "" {
		return t, nil
	}
	if err = json.Unmarshal([]byte(text), &t); err != nil {
		err = fmt.Errorf("counts of an hour in the ledger: %w", err)
	}
	return t, err
}

// RowKind is how a Tally counts a row.
type RowKind int

// The kinds of rows.
const (
	RowOwn   RowKind = iota // of one scheduled time
	RowRange                // a range row
	RowAdHoc                // a ~ run
)

// RunCount is how many scheduled times have rows that a Tally counts alike.
type RunCount struct {
	JobID   string    // see TallyQuery.ByJob
	Hour    time.Time // its start
	Kind    RowKind
	State   State
	Trigger Trigger
	// Late and Took are the histogram buckets of the times from ScheduledAt plus Call.Delay to
	// StartedAt, and from there to FinishedAt; NoBucket: they have none.
	Late, Took int
	Count      int
	Sum        time.Duration // of the times from StartedAt to FinishedAt
}

// NoBucket is that of a time that has not come.
const NoBucket = -1

// CountRow returns the count of a single row.
func CountRow(r *Row) RunCount {
	c := RunCount{JobID: r.JobID, Hour: hourOf(r.ScheduledAt), State: r.State, Trigger: r.Trigger, Late: NoBucket, Took: NoBucket,
		Count: r.Count}
	switch {
	case !r.Until.IsZero():
		c.Kind = RowRange
	case IsAdHoc(r.ID):
		c.Kind = RowAdHoc
	}
	if !r.StartedAt.IsZero() {
		c.Late = HistogramBucket(r.StartedAt.Sub(r.ScheduledAt) - r.Call.Delay)
	}
	if !r.StartedAt.IsZero() && !r.FinishedAt.IsZero() {
		c.Sum = r.FinishedAt.Sub(r.StartedAt)
		c.Took = HistogramBucket(c.Sum)
	}
	return c
}

// tally returns what rows count as together.
func (c RunCount) tally() Tally {
	var t Tally
	counts := map[State]int{c.State: c.Count}
	switch c.Kind {
	case RowRange:
		t.Ranges = counts
	case RowAdHoc:
		t.AdHoc = counts
	default:
		t.Counts = counts
	}
	if c.Late != NoBucket && (c.Trigger == BySchedule || c.Trigger == ByCatchUp) {
		t.Lateness = Histogram{c.Late: c.Count}
	}
	if c.Took != NoBucket && c.State == Succeeded {
		t.Durations, t.Took = Histogram{c.Took: c.Count}, c.Sum
	}
	return t
}
