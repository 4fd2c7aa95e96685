package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Each scheduled time is in the calendar once, those of range rows too.
func TestTheCalendarAddsUp(t *testing.T) {
	s := newSite(t)
	s.day()
	for range 3 { // from the ledger, then from the cache
		if got := s.get("/jobs/hourly").body; !strings.Contains(got, "41 scheduled times, each accounted for") || !strings.Contains(got, ">38</a>") {
			t.Fatalf("the calendar does not have 41 scheduled times, 38 of them missed:\n%s", got)
		}
	}
	_, err := s.Ack(t.Context(), ledger.Action{Filter: ledger.Filter{IDs: []string{s.id("hourly", 1)}}, Actor: ledger.Actor{By: "ann", Why: "seen", Via: ledger.ViaCLI}})
	must(t, err)
	if got := s.get("/jobs/hourly").body; !strings.Contains(got, "41 scheduled times") || !strings.Contains(got, "seen") {
		t.Errorf("after an act:\n%s", got)
	}
}

// The rollups cost nothing before somebody looks. Then each closed hour is read
// once, and again when an operator has acted on one of its runs.
func TestAClosedHourIsReadOnce(t *testing.T) {
	s := newSite(t)
	s.day()
	dead := s.time("hourly", 1)
	if n := s.read(dead); n != 0 {
		t.Errorf("read %d times before anybody looked", n)
	}
	counted := func() bool { return !strings.Contains(s.get("/?span=30d").body, "hours are counted") }
	wait := func() {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !counted(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the hours were not counted within a minute")
			}
		}
	}
	wait()
	counted()
	if n := s.read(dead); n != 1 {
		t.Errorf("a closed hour was read %d times", n)
	}
	_, err := s.Ack(t.Context(), ledger.Action{Filter: ledger.Filter{IDs: []string{s.id("hourly", 1)}}, Actor: ledger.Actor{By: "ann", Why: "seen", Via: ledger.ViaCLI}})
	must(t, err)
	wait()
	if n := s.read(dead); n != 2 {
		t.Errorf("the hour of a run that was acted on was read %d times, want 2", n)
	}
	if got := s.get("/?span=30d").body; !strings.Contains(got, "<dt>accounted for</dt><dd>41</dd>") {
		t.Errorf("the last 30 days do not have 41 scheduled times:\n%s", got)
	}
}

// What a late catch-up plans in hours that were counted long ago is shown.
func TestALateCatchUpIsCounted(t *testing.T) {
	s := newSite(t)
	counted := func(want string) bool {
		body := s.get("/?span=30d").body
		return !strings.Contains(body, "hours are counted") && strings.Contains(body, "<dt>accounted for</dt><dd>"+want+"</dd>")
	}
	for _, want := range []string{"0", "41"} {
		for deadline := time.Now().Add(time.Minute); !counted(want); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the last 30 days do not have %s scheduled times within a minute:\n%s", want, s.get("/?span=30d").body)
			}
		}
		if want == "0" {
			s.day()
		}
	}
}
