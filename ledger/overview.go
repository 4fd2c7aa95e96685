package ledger

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
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

// MarshalText writes the buckets in order: "160:3 162:1".
func (h Histogram) MarshalText() ([]byte, error) {
	var b []byte
	for _, bucket := range slices.Sorted(maps.Keys(h)) {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(append(strconv.AppendInt(b, int64(bucket), 10), ':'), int64(h[bucket]), 10)
	}
	return b, nil
}

// UnmarshalText reads what MarshalText writes.
func (h *Histogram) UnmarshalText(text []byte) error {
	*h = make(Histogram, bytes.Count(text, []byte(" "))+1)
	for part := range strings.FieldsSeq(string(text)) {
		bucket, count, _ := strings.Cut(part, ":")
		b, err := strconv.Atoi(bucket)
		n, err2 := strconv.Atoi(count)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		(*h)[b] = n
	}
	return nil
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
