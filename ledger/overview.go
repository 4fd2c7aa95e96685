package ledger

import (
	"math"
	"time"
)

// Cell is the part of a row that an overview of many rows needs. Its fields mean
// what they mean in a Run.
type Cell struct {
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

// Days counts a job's scheduled times by day and state. The sum of all
// counts is the number of the scheduled times that the ledger accounts for.
type Days struct {
	Counts []DayCount // of rows that stand for one scheduled time, by day, then state
	// Ranges are the range rows with a scheduled time in the interval, oldest
	// first, whole: a store cannot tell the days of their scheduled times.
	Ranges []Cell
}

// Timings is how the runs that were scheduled in an interval went.
type Timings struct {
	// Counts are the rows by state; a range row counts as its scheduled times.
	Counts map[State]int
	// Lateness is StartedAt after ScheduledAt, of the runs that were started by
	// their schedule (BySchedule, ByCatchUp).
	Lateness Histogram
	// Durations are FinishedAt after StartedAt, of the succeeded runs.
	Durations Histogram
}

// Histogram counts durations by class: see TimingClass.
type Histogram map[int]int

// classesPerOctave makes a class 9 % wide.
const classesPerOctave = 8

// TimingClass returns the class of a duration in a Histogram: eight times its
// logarithm to the base 2 in microseconds, rounded down, where anything below 1
// microsecond counts as 1.
func TimingClass(d time.Duration) int {
	return int(math.Floor(classesPerOctave * math.Log2(float64(max(d.Microseconds(), 1)))))
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
	for class, count := range other {
		h[class] += count
	}
}

// Quantile returns the duration that a share q of all does not exceed, 0 < q <= 1,
// within 5 %: the middle of its class. It is 0 for an empty histogram.
func (h Histogram) Quantile(q float64) time.Duration {
	if len(h) == 0 {
		return 0
	}
	first, last := math.MaxInt, math.MinInt
	for class := range h {
		first, last = min(first, class), max(last, class)
	}
	rank := int(math.Ceil(q * float64(h.Total())))
	for class := first; class < last; class++ {
		if rank -= h[class]; rank <= 0 {
			return classMiddle(class)
		}
	}
	return classMiddle(last)
}

func classMiddle(class int) time.Duration {
	us := math.Exp2((float64(class) + 0.5) / classesPerOctave)
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
