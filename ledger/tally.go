package ledger

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Tally counts runs by what became of them. Tallies add up, so that an hour, a job and all jobs
// have the same form.
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
	t.Lateness.add(other.Lateness, sign)
	t.Durations.add(other.Durations, sign)
	t.Took += time.Duration(sign) * other.Took
}

// addCounts adds counts, and leaves out what is 0 then.
func addCounts(to *map[State]int, counts map[State]int, sign int) {
	for k, n := range counts {
		if *to == nil {
			*to = make(map[State]int, len(counts))
		}
		(*to)[k] += sign * n
		if (*to)[k] == 0 {
			delete(*to, k)
		}
	}
}

// empty reports whether nothing is counted.
func (t *Tally) empty() bool { return len(t.Counts)+len(t.Ranges)+len(t.AdHoc) == 0 }

// timesInTally are the fields with which the times of runs begin in a tally that is encoded: the
// first, or without it the second.
var timesInTally = [2]string{`,"lateness":`, `,"durations":`}

// encode returns the tally as a HourRow has it.
func (t *Tally) encode() (string, error) {
	if t.empty() {
		return "", nil
	}
	text, err := json.Marshal(t)
	return string(text), err
}

// decodeTally reads what encode writes. A page reads thousands, for which package json
// takes five times as long; json says what is wrong.
func decodeTally(text string) (t Tally, err error) {
	err = t.decode(text)
	return t, err
}

// decode decodes a text as decodeTally does, into a tally whose memory is used again.
func (t *Tally) decode(text string) error {
	clear(t.Counts)
	clear(t.Ranges)
	clear(t.AdHoc)
	t.Lateness, t.Durations, t.Took = t.Lateness[:0], t.Durations[:0], 0
	if text == "" || t.read(text) {
		return nil
	}
	*t = Tally{}
	if err := json.Unmarshal([]byte(text), t); err != nil {
		return fmt.Errorf("counts of an hour in the ledger: %w", err)
	}
	return nil
}

// read reads a tally, or reports that it is not in the form that encode writes.
func (t *Tally) read(text string) bool {
	return eachField(text, func(name, value string) bool {
		switch name {
		case "counts":
			return readCounts(&t.Counts, value)
		case "ranges":
			return readCounts(&t.Ranges, value)
		case "adHoc":
			return readCounts(&t.AdHoc, value)
		case "lateness":
			return t.Lateness.UnmarshalText([]byte(strings.Trim(value, `"`))) == nil
		case "durations":
			return t.Durations.UnmarshalText([]byte(strings.Trim(value, `"`))) == nil
		case "took":
			took, err := strconv.ParseInt(value, 10, 64)
			t.Took = time.Duration(took)
			return err == nil
		}
		return false
	})
}

// readCounts reads the counts by state from a text, and reports whether it has the form that encode
// writes.
func readCounts(to *map[State]int, object string) bool {
	if *to == nil {
		*to = make(map[State]int, 8)
	}
	return eachField(object, func(state, value string) bool {
		n, err := strconv.Atoi(value)
		(*to)[State(state)] = n
		return err == nil
	})
}

// eachField calls f with each field of a JSON object without spaces and escapes, and with
// its value as it is written, while f returns true. It reports whether that were all.
func eachField(object string, f func(name, value string) bool) bool {
	for rest := object; strings.HasPrefix(rest, `{"`) || rest != object && strings.HasPrefix(rest, `,"`); {
		name, value, _ := strings.Cut(rest[2:], `":`)
		end := strings.IndexAny(value, ",}")
		switch {
		case strings.HasPrefix(value, `"`):
			end = strings.IndexByte(value[1:], '"') + 2
		case strings.HasPrefix(value, "{"):
			end = strings.IndexByte(value, '}') + 1
		}
		if end <= 0 || strings.ContainsRune(object, '\\') || !f(name, value[:end]) {
			return false
		}
		if rest = value[end:]; rest == "}" {
			return true
		}
	}
	return false
}

// RowKind is the kind of a row in a Tally.
type RowKind int

// The kinds of rows.
const (
	RowOwn   RowKind = iota // of one scheduled time
	RowRange                // a range row
	RowAdHoc                // a ~ run
)

// RunCount is the number of scheduled times whose rows a Tally counts alike. An engine groups rows
// so, and knows no more of a Tally.
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
		t.Lateness.Count(c.Late, c.Count)
	}
	if c.Took != NoBucket && c.State == Succeeded {
		t.Durations.Count(c.Took, c.Count)
		t.Took = c.Sum
	}
	return t
}
