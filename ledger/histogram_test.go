package ledger_test

import (
	"math"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Every duration is within 5 % of the middle of its class, whatever its size.
func TestAQuantileIsWithinFivePercent(t *testing.T) {
	for d := time.Microsecond; d < 400*24*time.Hour; d = d*21/20 + time.Microsecond {
		var h ledger.Histogram
		h.Count(ledger.HistogramBucket(d), 1)
		if got := h.Quantile(0.5); math.Abs(float64(got-d)) > 0.05*float64(d)+float64(time.Microsecond) {
			t.Errorf("%s is read back as %s", d, got)
		}
	}
}

func TestQuantilesOfAHistogram(t *testing.T) {
	h := ledger.Histogram{}
	for i := range 1000 {
		h.Count(ledger.HistogramBucket(time.Duration(i+1)*time.Millisecond), 1)
	}
	var other ledger.Histogram
	other.Count(ledger.HistogramBucket(time.Hour), 1)
	h.Add(other)
	for q, want := range map[float64]time.Duration{0.0005: time.Millisecond, 0.5: 500 * time.Millisecond, 0.95: 950 * time.Millisecond, 1: time.Hour} {
		if got := h.Quantile(q); got < want*19/20 || got > want*21/20 {
			t.Errorf("quantile %v: %s, want about %s", q, got, want)
		}
	}
	if got := (ledger.Histogram{}).Quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %s", got)
	}
	if got := ledger.HistogramBucket(-time.Second); got != 0 {
		t.Errorf("a negative duration is of class %d", got)
	}
}
