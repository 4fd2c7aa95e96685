package executor

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Places come, move and go; what is due is always what a plain list would say,
// the earliest first, and telling it changes nothing.
func TestTheHeapTellsWhatIsDueEarliestFirst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const places = 40
		var h dueHeap
		h.index = slices.Repeat([]int32{-1}, places)
		times := map[int]int64{}
		for range rapid.IntRange(1, 120).Draw(rt, "steps") {
			place := rapid.IntRange(0, places-1).Draw(rt, "place")
			if rapid.Bool().Draw(rt, "remove") {
				h.remove(place)
				delete(times, place)
			} else {
				times[place] = rapid.Int64Range(0, 12).Draw(rt, "at")
				h.put(dueNode{times[place], int32(place)})
			}
			then := rapid.Int64Range(0, 13).Draw(rt, "then")
			for range 2 {
				checkDue(rt, &h, times, then)
			}
		}
	})
}

func checkDue(rt *rapid.T, h *dueHeap, times map[int]int64, then int64) {
	var want []int
	for place := range maps.Keys(times) {
		if times[place] <= then {
			want = append(want, place)
		}
	}
	got := slices.Collect(h.upTo(then))
	if !slices.IsSortedFunc(got, func(a, b int) int { return cmp.Compare(times[a], times[b]) }) {
		rt.Fatalf("due at %d, not the earliest first: %v of %v", then, got, times)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		rt.Fatalf("due at %d are %v, want %v of %v", then, got, want, times)
	}
}

func TestTheHeapCanBeLookedAtInPart(t *testing.T) {
	h := dueHeap{index: slices.Repeat([]int32{-1}, 3)}
	for place, at := range []int64{30, 10, 20} {
		h.put(dueNode{at, int32(place)})
	}
	for place := range h.upTo(30) {
		if place != 1 {
			t.Errorf("place %d comes first", place)
		}
		break
	}
}
