package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
)

// second is a time on the clock of these tests.
func second(n float64) time.Time {
	return time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(time.Second)))
}

// put is a request of change n, which is sent at second n and answered half a second later.
func put(key string, n int64, status int, revision int64) try {
	return try{
		kind: tryPut, key: key, number: n, said: content{expr: "* * * * * *"}, sent: second(float64(n)), answered: second(float64(n) + 0.5),
		status: status, effect: string(ledger.ScheduleChanged), revision: revision,
	}
}

// made is the revision that change n made.
func made(key string, revision, n int64) spoken {
	at := second(float64(n) + 0.2)
	return spoken{key: key, revision: revision, number: n, said: content{expr: "* * * * * *"}, from: at, changed: at}
}

func TestAStormsAnswersAndRevisionsAreCompared(t *testing.T) {
	deleted := made("k1", 2, 1)
	deleted.deleted, deleted.from, deleted.changed = true, second(2.2), second(2.2)
	past, once, other := made("k1", 1, 1), made("k1", 1, 1), made("k1", 1, 1)
	past.from = second(0.9)
	future, again := made("k1", 1, 1), made("k1", 3, 3)
	future.from, again.from = second(9), second(9)
	once.said.expr, once.from = "at(2026-11-27T00:00:01)", second(0)
	other.said.expr = "*/2 * * * * *"
	asksOnce, unchanged, edit := put("k1", 1, 200, 1), put("k1", 2, 200, 1), put("k1", 3, 200, 3)
	asksOnce.said, edit.match, unchanged.effect = once.said, 1, string(ledger.ScheduleUnchanged)
	unchanged.number = 1
	remove := put("k1", 2, 200, 2)
	remove.kind = tryDelete
	read := try{kind: tryRead, key: "k1", number: 1, sent: second(3), answered: second(4), status: 200, revision: 1}
	generation := func(s spoken, n int64) spoken { s.generation = n; return s }
	rev1, rev2, rev3 := made("k1", 1, 1), made("k1", 2, 2), made("k1", 3, 3)
	asked, changed, unheard := put("k1", 1, 201, 1), put("k1", 2, 200, 2), put("k1", 2, 0, 0)
	for _, c := range []struct {
		what    string
		history []spoken
		tries   []try
		want    proof.Rule
	}{
		{"an answered change", []spoken{rev1}, []try{asked, unchanged}, ""},
		{"a change without an answer, made", []spoken{rev1}, []try{put("k1", 1, 0, 0)}, ""},
		{"a change without an answer, not made", nil, []try{put("k1", 1, 0, 0)}, ""},
		{"a refused change", nil, []try{put("k1", 1, http.StatusConflict, 0)}, ""},
		{"a deletion", []spoken{rev1, deleted}, []try{asked, remove}, ""},
		{"a time that has just passed", []spoken{once}, []try{asksOnce}, ""},
		{"an answered change that is lost", nil, []try{asked}, Untrue},
		{"an answered deletion that is lost", []spoken{rev1, rev2}, []try{asked, unheard, remove}, Untrue},
		{"a refused change that is made", []spoken{rev1}, []try{put("k1", 1, http.StatusConflict, 0)}, Unasked},
		{"half a change", []spoken{other}, []try{put("k1", 1, 0, 0)}, Unasked},
		{"half a change that is answered", []spoken{other}, []try{asked}, Unasked},
		{"a deletion that nobody asked for", []spoken{rev1, deleted}, []try{asked}, Unasked},
		{"a revision too many", []spoken{rev1, made("k1", 3, 2)}, []try{asked, unheard}, Untrue},
		{"a change made twice", []spoken{rev1, made("k1", 2, 1)}, []try{put("k1", 1, 0, 0)}, Repeated},
		{"a change with a generation made twice", []spoken{made("k0", 1, 1), made("k0", 2, 1)},
			[]try{put("k0", 1, 0, 0), put("k0", 1, 0, 0)}, Repeated},
		{"a change for the past", []spoken{past}, []try{asked}, Backdated},
		{"a change that takes effect later", []spoken{future}, []try{asked}, Postponed},
		{"a change after a deletion that takes effect later", []spoken{rev1, deleted, again}, []try{asked, remove, put("k1", 3, 201, 3)}, Postponed},
		{"a lower generation", []spoken{generation(rev1, 5), generation(rev2, 4)}, []try{put("k1", 1, 0, 0), unheard}, Reversed},
		{"a read of what was changed before", []spoken{rev1, rev2}, []try{asked, changed, read}, Reversed},
		{"an edit of a revision that was replaced", []spoken{rev1, rev2, rev3}, []try{asked, unheard, edit}, Reversed},
	} {
		check := newStormCheck(c.history, c.tries)
		check.committed(c.tries)
		check.heard(c.tries)
		found := slices.ContainsFunc(check.found, func(v proof.Violation) bool { return v.Rule == c.want })
		if found != (c.want != "") || c.want == "" && len(check.found) > 0 {
			t.Errorf("%s: found %v, want %q", c.what, check.found, c.want)
		}
	}
}

// Each content is due while it holds, and its runs are of it.
func TestAStormsRunsAreThoseOfTheContentThatHeld(t *testing.T) {
	c := newStormCheck([]spoken{made("k1", 1, 1), made("k1", 2, 4)}, nil)
	list, err := c.contents(second(9))
	if err != nil || len(list) != 2 || !list[0].To.Equal(second(4.2)) || list[0].Open || !list[1].To.Equal(second(9)) || !list[1].Open {
		t.Fatalf("%+v, %v", list, err)
	}
	after := made("k1", 2, 4)
	after.from = second(6) // up to there, the former content is to be planned
	gap, err := newStormCheck([]spoken{made("k1", 1, 1), after}, nil).contents(second(9))
	if err != nil || !gap[0].To.Equal(second(6)) || !gap[1].From.Equal(second(6)) {
		t.Errorf("%+v, %v", gap, err)
	}
	row := func(at float64, revision, number int64) ledger.Run {
		body := fmt.Appendf(nil, `{"number":%d}`, number)
		return ledger.Run{JobID: "keyed:k1", ScheduledAt: second(at), Revision: revision, Count: 1, Call: ledger.CallSpec{Body: body}}
	}
	for _, run := range []struct {
		what string
		row  ledger.Run
		bad  int
	}{
		{"the last time before an edit", row(4, 1, 1), 0},
		{"the first after it", row(5, 2, 4), 0},
		{"the old content after it", row(5, 1, 1), 1},
		{"the new content before it", row(4, 2, 4), 1},
		{"the data of another content", row(5, 2, 1), 1},
		{"a revision that never was", row(5, 3, 4), 1},
	} {
		c.found = nil
		if n, err := c.quoted([]ledger.Run{run.row, {JobID: "other"}}); n != 1 || err != nil || len(c.found) != run.bad {
			t.Errorf("%s: %d runs, %v, found %v", run.what, n, err, c.found)
		}
	}
}
