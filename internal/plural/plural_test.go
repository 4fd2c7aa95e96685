package plural_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/plural"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOf(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "job", "0 jobs"},
		{1, "job", "1 job"},
		{2, "scheduled time", "2 scheduled times"},
		{1, "live process", "1 live process"},
		{3, "live process", "3 live processes"},
	} {
		if got := plural.Of(c.n, c.noun); got != c.want {
			t.Errorf("Of(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
		if got := plural.Of(int64(c.n), c.noun); got != c.want {
			t.Errorf("Of(int64(%d), %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}
