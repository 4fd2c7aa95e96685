package web

import (
	"testing"

	"github.com/cronce/cronce/ledger"
)

// One dead run of thirty does not paint its day: the red part is as high as the share that
// failed.
func TestTheRedOfADayIsItsShare(t *testing.T) {
	type counts = map[ledger.State]int
	for _, c := range []struct {
		by     counts
		height int
		class  string
	}{
		{counts{ledger.Succeeded: 30}, 0, ""},
		{counts{ledger.Succeeded: 29, ledger.Dead: 1}, 3, "dead"},
		{counts{ledger.Succeeded: 15, ledger.Dead: 15}, 8, "dead"},
		{counts{ledger.Succeeded: 10, ledger.Missed: 10, ledger.Skipped: 80}, 8, "missed"},
		{counts{ledger.Succeeded: 1, ledger.Missed: 9, ledger.Dead: 90}, 12, "dead"},
		{counts{ledger.Dead: 3}, 0, ""}, // the whole day: see heatLook
		{counts{}, 0, ""},
	} {
		if height, class := badShare(oneDay{ByState: c.by}); height != c.height || class != c.class {
			t.Errorf("%v: %d of class %q, want %d of %q", c.by, height, class, c.height, c.class)
		}
	}
	if class, _ := heatLook(oneDay{ByState: counts{ledger.Dead: 3}}, 0); class != "dead" {
		t.Errorf("a day without a success is %q", class)
	}
}
