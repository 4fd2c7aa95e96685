package ledger

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Histogram counts durations by bucket: the count of bucket b is at b. See
// [HistogramBucket].
type Histogram []int

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
	for bucket, n := range h {
		if n == 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(append(strconv.AppendInt(b, int64(bucket), 10), ':'), int64(n), 10)
	}
	return b, nil
}

// UnmarshalText reads what MarshalText writes. A page reads thousands.
func (h *Histogram) UnmarshalText(text []byte) error {
	*h = slices.Grow((*h)[:0], bucketsPerOctave*24) // up to 16 s
	bucket, number := 0, 0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9' && number < math.MaxInt/100:
			number = 10*number + int(c-'0')
		case c == ':' && number < bucketsPerOctave*64:
			bucket, number = number, 0
		case c == ' ':
			h.Count(bucket, number)
			number = 0
		default:
			return fmt.Errorf("unexpected %q in the histogram %q", c, text)
		}
	}
	h.Count(bucket, number)
	return nil
}

// Count adds a number of durations to a bucket.
func (h *Histogram) Count(bucket, n int) {
	if n != 0 && bucket >= len(*h) {
		*h = append(*h, make(Histogram, bucket+1-len(*h))...)
	}
	if n != 0 {
		(*h)[bucket] += n
	}
}

// Total returns the number of durations in the histogram.
func (h Histogram) Total() (n int) {
	for _, count := range h {
		n += count
	}
	return n
}

// Add adds the counts of another histogram.
func (h *Histogram) Add(other Histogram) { h.add(other, 1) }

// add adds the counts of another histogram, or with -1 takes them off.
func (h *Histogram) add(other Histogram, sign int) {
	if len(other) > len(*h) {
		*h = append(*h, make(Histogram, len(other)-len(*h))...)
	}
	for bucket, n := range other {
		(*h)[bucket] += sign * n
	}
	for len(*h) > 0 && (*h)[len(*h)-1] == 0 {
		*h = (*h)[:len(*h)-1]
	}
}

// Quantile returns the duration that a share q of all does not exceed, 0 < q <= 1,
// within 5 %: the middle of its bucket. It is 0 for an empty histogram.
func (h Histogram) Quantile(q float64) time.Duration {
	if len(h) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(h.Total())))
	for bucket, n := range h {
		if rank -= n; rank <= 0 && n > 0 {
			return bucketMiddle(bucket)
		}
	}
	return bucketMiddle(len(h) - 1)
}

// bucketMiddle returns the duration in the middle of a bucket.
func bucketMiddle(bucket int) time.Duration {
	us := math.Exp2((float64(bucket) + 0.5) / bucketsPerOctave)
	return time.Duration(us * float64(time.Microsecond))
}
