package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
)

// story is a fleet's history in which revision n is deployed at minute n.
type story struct {
	deployed *deployments
	midnight time.Time
}

func newStory(t *testing.T, revisions int) *story {
	s := &story{newDeployments(), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
	for n := range revisions {
		if err := s.deployed.note(n, s.at(n, 0)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *story) at(minute int, second float64) time.Time {
	return s.midnight.Add(time.Duration(minute)*time.Minute + time.Duration(second*float64(time.Second)))
}

// turn is the job's nth revision, by a revision's definition.
func (s *story) turn(job string, n int64, revision int, at time.Time) turn {
	for key, d := range s.deployed.known {
		if d.job.ID == job && d.revision == revision {
			return turn{jobID: job, revision: n, hash: key[len(job)+1:], at: at}
		}
	}
	panic("no such definition")
}

func (s *story) end(job string, n int64, at time.Time) turn {
	return turn{jobID: job, revision: n, ended: true, at: at}
}

func TestRevisionsRunFromTurnToTurn(t *testing.T) {
	s := newStory(t, 3)
	list, found := revisionsOf([]turn{
		s.turn("season", 1, 0, s.at(0, 1)), s.end("season", 1, s.at(1, 2.5)), s.turn("season", 2, 2, s.at(2, 3)), s.end("season", 2, s.at(2, 3.5)),
		s.turn("moved", 1, 0, s.at(0, 1)), s.turn("moved", 2, 1, s.at(1, 2)),
	}, s.deployed, map[string]time.Time{"moved": s.at(2, 9)})
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%s %d: %s to %s, %s, open %t, revision %d", e.JobID, e.number,
			e.From.Format("04:05.0"), e.To.Format("04:05.0"), e.Schedule, e.Open, e.revision))
	}
	want := []string{
		"season 1: 00:01.0 to 01:02.5, * * * * * *, open false, revision 0",
		"season 2: 02:03.0 to 02:03.5, * * * * * *, open false, revision 2",
		"moved 1: 00:01.0 to 01:02.0, * * * * * *, open false, revision 0",
		"moved 2: 01:02.0 to 02:09.0, */3 * * * * *, open true, revision 1",
	}
	if !slices.Equal(got, want) || len(found) > 0 {
		t.Errorf("got %q, found %v", got, found)
	}
}

// A revision that is over before anything of it ran is checked like any other.
func TestAScheduledTimeWithoutARowIsLost(t *testing.T) {
	s := newStory(t, 2)
	list, _ := revisionsOf([]turn{s.turn("season", 1, 0, s.at(0, 1)), s.end("season", 1, s.at(1, 0.5))}, s.deployed, nil)
	found, tally := proof.Check(proof.Evidence{Revisions: []proof.Revision{list[0].Revision}})
	if tally.Times != 59 || len(found) != 59 || found[0].Rule != proof.Lost {
		t.Errorf("%d scheduled times, found %v", tally.Times, found)
	}
}

func TestWhatNoFleetCanDo(t *testing.T) {
	s := newStory(t, 3)
	for _, c := range []struct {
		rule  proof.Rule
		turns []turn
	}{
		{Undeclared, []turn{{jobID: "moved", revision: 1, hash: "another", at: s.at(0, 1)}}},
		{Retroactive, []turn{s.turn("moved", 1, 0, s.at(0, 1)), s.turn("moved", 2, 1, s.at(0, 59))}},
		{proof.Dropped, []turn{s.turn("payroll", 1, 0, s.at(0, 1)), s.end("payroll", 1, s.at(1, 1))}},
		{proof.Dropped, []turn{s.turn("season", 1, 0, s.at(0, 1)), s.end("season", 1, s.at(0, 59))}},
	} {
		if _, found := revisionsOf(c.turns, s.deployed, nil); len(found) != 1 || found[0].Rule != c.rule {
			t.Errorf("%s: found %v", c.rule, found)
		}
	}
}

func TestTheLedgersEventsTellOfTheSameRevisions(t *testing.T) {
	s := newStory(t, 3)
	turns := []turn{
		s.turn("moved", 1, 0, s.at(0, 1)), s.turn("season", 1, 0, s.at(0, 1)), s.turn("moved", 2, 1, s.at(1, 2)), s.end("season", 1, s.at(1, 3)),
	}
	begun := func(at time.Time) ledger.Event { return ledger.Event{Kind: ledger.EventRevisionBegun, At: at} }
	ended := func(at time.Time) ledger.Event { return ledger.Event{Kind: ledger.EventRevisionEnded, At: at} }
	gap := ledger.Event{Kind: ledger.EventGapSkipped, At: s.at(1, 0)}
	for _, c := range []struct {
		what, job string
		events    []ledger.Event // newest first
		bad       int
	}{
		{"an edit", "moved", []ledger.Event{begun(s.at(1, 2)), ended(s.at(1, 2)), gap, begun(s.at(0, 1))}, 0},
		{"a removal", "season", []ledger.Event{ended(s.at(1, 3)), begun(s.at(0, 1))}, 0},
		{"an edit dated by the clock", "moved", []ledger.Event{begun(s.at(1, 2.5)), ended(s.at(1, 2.5)), begun(s.at(0, 1))}, 1},
		{"an edit that is not told", "moved", []ledger.Event{begun(s.at(0, 1))}, 1},
	} {
		if found := misdated(c.job, turns, c.events); len(found) != c.bad {
			t.Errorf("%s: found %v", c.what, found)
		}
	}
}

func TestARunHasTheRevisionOfItsScheduledTime(t *testing.T) {
	s := newStory(t, 2)
	list, _ := revisionsOf([]turn{s.turn("moved", 1, 0, s.at(0, 1)), s.turn("moved", 2, 1, s.at(1, 2))}, s.deployed, nil)
	row := func(at time.Time, revision int64, deployed int) ledger.Run {
		body, err := json.Marshal(map[string]int{"revision": deployed})
		if err != nil {
			t.Fatal(err)
		}
		return ledger.Run{ID: "moved@" + at.String(), JobID: "moved", ScheduledAt: at, Revision: revision, Call: ledger.CallSpec{Body: body}}
	}
	for _, c := range []struct {
		what  string
		row   ledger.Run
		given bool
		bad   int
	}{
		{"the last scheduled time of the outgoing revision", row(s.at(1, 2), 1, 0), false, 0},
		{"the first of the next", row(s.at(1, 3), 2, 1), false, 0},
		{"planned by the outgoing revision after its end", row(s.at(1, 3), 1, 0), false, 1},
		{"planned by the next before its beginning", row(s.at(1, 1), 2, 1), false, 1},
		{"sent with the body of another revision", row(s.at(1, 3), 2, 0), false, 1},
		{"given by a platform", row(s.at(1, 3), 2, 0), true, 0},
	} {
		found, err := foreign([]ledger.Run{c.row}, list, map[string]bool{c.row.ID: c.given})
		if err != nil || len(found) != c.bad {
			t.Errorf("%s: found %v, %v", c.what, found, err)
		}
	}
}
