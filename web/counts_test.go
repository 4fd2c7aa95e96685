package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// die plans the i-th to the k-th scheduled time of a job, all of which are dead at once.
func (s *site) die(jobID string, i, k int, reason ledger.Reason) {
	s.Helper()
	for ; i <= k; i++ {
		s.record(s.admit(jobID, s.spec(jobID, i))[0], ledger.Dead, reason, ledger.Attempt{Answer: ledger.AnswerRefused, Status: 422})
	}
}

func (s *site) has(path string, texts ...string) {
	s.Helper()
	got := s.get(path).body
	for _, text := range texts {
		if !strings.Contains(got, text) {
			s.Errorf("%s does not have %q:\n%s", path, text, got)
		}
	}
}

// However many dead runs there are, the numbers on the overview add up, and each is the
// one of the job's page.
func TestCountsOfDeadRunsAgree(t *testing.T) {
	s := newSite(t)
	s.ShiftClock(60 * 24 * time.Hour)
	s.die("hourly", 0, 799, ledger.ReasonPermanent)
	s.die("hourly", 800, 1099, ledger.ReasonExhausted)
	s.die("paris", 0, 1, ledger.ReasonPayloadMismatch) // a cause of its own
	s.has("/", "1,102 dead runs nobody has acknowledged", "1,100 dead runs, by <a", "and 2 more dead runs",
		`cronce runs redrive <span class="nowrap">--job</span> hourly <span class="nowrap">--why</span>`)
	s.has("/jobs/hourly", "1,100 dead runs, by <a", "1,100 dead to acknowledge")
	s.has("/runs?state=dead&group=1", "300 or more", "200 or more", " ago</time> or earlier", "Of the newest 500 rows")
	s.die("paris", 20, 21, ledger.ReasonPayloadMismatch) // among the newest
	s.has("/", "1,104 dead runs nobody", "1,100 dead runs, by <a", "4 dead runs, by <a")
	_, err := s.Ack(t.Context(), ledger.Action{Filter: ledger.Filter{JobID: "hourly", Reason: ledger.ReasonPermanent}, Actor: ledger.Actor{By: "ann", Why: "seen"}})
	must(t, err)
	s.has("/", "304 dead runs nobody", "300 dead runs: ", "4 dead runs: ", `--reason</span> exhausted`)
	s.has("/runs?state=dead&unacknowledged=1&group=1", "Of all 304 rows that match", `data-label="Scheduled times">300</td>`)
	if got := s.get("/").body; strings.Contains(got, "more dead run") || strings.Contains(got, ", by <a") {
		t.Errorf("all dead runs were read, and the overview says that there are others:\n%s", got)
	}
}

// What is shown of very many dead runs is counts, which the ledger makes: they are not read.
func TestDeadRunsAreCountedAndNotRead(t *testing.T) {
	s := newSite(t)
	s.ShiftClock(30 * 24 * time.Hour)
	s.die("hourly", 0, 599, ledger.ReasonPermanent)
	status := func() {
		v, err := s.board.Operations.Status(t.Context())
		must(t, err)
		if len(v.Attention.Causes) != 1 || v.Attention.Causes[0].Runs != 600 || v.Attention.More != 0 {
			t.Errorf("%+v", v.Attention)
		}
	}
	for name, read := range map[string]func(){
		"status": status, "overview": func() { s.get("/") }, "job": func() { s.get("/jobs/hourly") }, "groups": func() { s.get("/runs?state=dead&group=1") },
	} {
		s.read = 0
		read()
		if s.read > 50 {
			t.Errorf("%s reads %d runs", name, s.read)
		}
	}
}

// Of a job that has failed for longer than is looked back, the page, the API and the
// command line say that it has failed since then or earlier.
func TestAJobThatFailsForLongSaysOrEarlier(t *testing.T) {
	s := newSite(t)
	s.ShiftClock(60 * 24 * time.Hour)
	s.die("hourly", 0, ledger.OutcomeWindow-2, ledger.ReasonPermanent)
	outcome := func() string {
		job, err := s.board.Operations.Job(t.Context(), "hourly")
		must(t, err)
		return job.Outcome()
	}
	if body := s.get("/jobs/hourly").body; strings.Contains(body, "or earlier") || strings.Contains(outcome(), "or earlier") {
		t.Errorf("the first dead run is known: %s\n%s", outcome(), body)
	}
	s.die("hourly", ledger.OutcomeWindow-1, ledger.OutcomeWindow, ledger.ReasonPermanent)
	s.has("/jobs/hourly", "ago</time> or earlier")
	s.has("/jobs", "ago</time> or earlier")
	if want := "failing since " + s.time("hourly", 1).Format(time.RFC3339) + " or earlier"; !strings.Contains(outcome(), want) {
		t.Errorf("%q, want %q", outcome(), want)
	}
}

// What a listing without a row offers and prints can be done.
func TestAnEmptyListingOffersNothing(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	s.day()
	for _, path := range []string{"/runs?job=paris", "/runs?job=hourly&reason=exhausted", "/runs?job=nobody&state=dead", "/runs?job=hourly&state=succeeded"} {
		if got := s.get(path); got.Code != http.StatusOK || strings.Contains(got.body, "/actions/") {
			t.Errorf("%s: %d offers an action on no run:\n%s", path, got.Code, got.body)
		}
	}
	s.has("/runs?job=hourly", "Redrive the dead", "Cancel the unfinished")
	s.has("/runs?job=paris", "cronce runs list")
	s.has("/runs?job=hourli", `Unknown job &#34;hourli&#34;; did you mean &#34;hourly&#34;?`)
	if got := s.get("/runs?job=hourli").body; strings.Contains(got, "cronce runs list ") {
		t.Errorf("the command would be refused:\n%s", got)
	}
	if got := s.get("/runs?since=2026-11-22&until=2026-11-21"); got.Code != http.StatusBadRequest || !strings.Contains(got.body, "is not after the start") {
		t.Errorf("%d\n%s", got.Code, got.body)
	}
}

func TestTheCommandOfAListingHasEachFilter(t *testing.T) {
	s := newSite(t)
	s.day()
	s.has("/runs?state=dead&unacknowledged=1&job=hourly", `cronce runs list <span class="nowrap">--job</span> hourly <span class="nowrap">--state</span> dead <span class="nowrap">--unacknowledged</span>`)
}
