package kitbench_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/internal/kitbench"
)

func TestPercentileIsTheShortestTimeThatSoManyDoNotExceed(t *testing.T) {
	for _, c := range []struct{ n, percent, want int }{
		{1, 50, 1}, {1, 99, 1}, {2, 50, 1}, {3, 50, 2}, {100, 99, 99}, {101, 99, 100}, {200, 99, 198}, {800, 50, 400},
	} {
		sorted := make([]time.Duration, c.n) // 1, 2, 3 ... n
		for i := range sorted {
			sorted[i] = time.Duration(i + 1)
		}
		if got := kitbench.Percentile(sorted, c.percent); got != time.Duration(c.want) {
			t.Errorf("percentile %d of %d: %d, want %d", c.percent, c.n, got, c.want)
		}
	}
}
