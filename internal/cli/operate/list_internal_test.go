package operate

import "testing"

func TestAListSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rows  int
		l     listing
		shown int
		note  string
	}{
		{97, listing{limit: 20}, 20, "showing 20 of 97; --all shows all"},
		{20, listing{limit: 20}, 20, ""},
		{97, listing{limit: 20, all: true}, 97, ""},
		{1000, listing{limit: 20}, 20, "showing 20 of 1000 or more; --all shows all"},
		{1500, listing{limit: 1500}, 1500, ""},
		{0, listing{limit: 20}, 0, ""},
	} {
		l := tc.l
		if rows := cut(&l, make([]int, tc.rows)); len(rows) != tc.shown || l.note != tc.note {
			t.Errorf("%+v: %d, %q", tc, len(rows), l.note)
		}
	}
}
