package ledger

import (
	"math"
	"time"
)

// RunSummary is the part of a Run that an overview of many runs needs. Its fields mean
// the same as there. Recent returns at most n of each job, newest first, without ~ runs, from
// the job's newest OutcomeWindow rows.
type RunSummary struct {
	RunID       string
	ScheduledAt time.Time
	Until       time.Time // a range's last scheduled time, else zero
	Count       int
	State       State
	Reason      Reason
	Replayed    bool
	StartedAt   time.Time
	FinishedAt  time.Time
}

// DayCount is how many scheduled times of a job on one UTC day are in a state.
type DayCount struct {
	Day   time.Time // its first second, UTC
	State State
	Count int
}

// Days counts a job's scheduled times in [since, until) by day and state, without ~ runs.
// The sum of all counts is the number of scheduled times that the ledger accounts for. Its
// cost grows with the job's rows in the interval.
type Days struct {
	Counts []DayCount // of rows that stand for one scheduled time, by day, then state
	// Ranges are the range rows with a scheduled time in the interval, oldest first.
	// They are whole, as a store does not know the days of their scheduled times.
	Ranges []RunSummary
}

// Timings is how the runs that were scheduled in [since, until) went, ~ runs too. Its cost
// grows with the rows in the interval.
type Timings struct {
	// Counts counts the rows by state; a range row counts as its scheduled times.
	Counts map[State]int
	// Lateness has the time from ScheduledAt plus Call.Delay to StartedAt, of the runs
	// of the schedule (BySchedule, ByCatchUp).
	Lateness Histogram
	// Durations has the time from StartedAt to FinishedAt, of the succeeded runs.
	Durations Histogram
}

// Histogram counts durations by bucket. See [HistogramBucket].
type Histogram map[int]int

// bucketsPerOctave makes a bucket 9 % wide.
const bucketsPerOctave = 8

// HistogramBucket returns the bucket of a duration in a Histogram: eight times the
// logarithm to the base 2 of its microseconds, rounded down. A duration below 1
// microsecond counts as 1.
func HistogramBucket(d time.Duration) int {
	return int(math.Floor(bucketsPerOctave * math.Log2(float64(max(d.Microseconds(), 1)))))
}

// Total returns the number of durations in the histogram.
func (h Histogram) Total() (n int) {
	for _, count := range h {
		n += count
	}
	return n
}

// Add adds the counts of another histogram.
func (h Histogram) Add(other Histogram) {
	for bucket, count := range other {
		h[bucket] += count
	}
}

// Quantile returns the duration that a share q of all does not exceed, 0 < q <= 1,
// within 5 %: the middle of its bucket. It is 0 for an empty histogram.
func (h Histogram) Quantile(q float64) time.Duration {
	if len(h) == 0 {
		return 0
	}
	first, last := math.MaxInt, math.MinInt
	for bucket := range h {
		first, last = min(first, bucket), max(last, bucket)
	}
	rank := int(math.Ceil(q * float64(h.Total())))
	for bucket := first; bucket < last; bucket++ {
		if rank -= h[bucket]; rank <= 0 {
			return bucketMiddle(bucket)
		}
	}
	return bucketMiddle(last)
}

func bucketMiddle(bucket int) time.Duration {
	us := math.Exp2((float64(bucket) + 0.5) / bucketsPerOctave)
	return time.Duration(us * float64(time.Microsecond))
}

// Process is an executor that works, or worked, on the ledger.
type Process struct {
	ID          string
	Version     string // of the set of definitions that it declares
	HeartbeatAt time.Time
	Alive       bool // its last heartbeat is at most ProcessTTL old
	Definitions int  // how many it declares
	Running     int  // runs leased to it
	Host        string
	Program     string // the version of the program
}
