package proof_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

var midnight = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return midnight.Add(time.Duration(n) * time.Minute) }

func id(n int) string { return jobs.RunID("a", minute(n)) }

// succeeded is the row of the nth minute.
func succeeded(n int) ledger.Run {
	return ledger.Run{
		ID: id(n), JobID: "a", ScheduledAt: minute(n), Count: 1, State: ledger.Succeeded,
		PlannedAt: minute(n), StartedAt: minute(n), SendBefore: minute(n + 60),
	}
}

func effect(n int) proof.Effect {
	return proof.Effect{RunID: id(n), Begun: minute(n).Add(time.Second), At: minute(n).Add(2 * time.Second)}
}

// good is evidence of a job that ran in each of three minutes.
func good(t *testing.T) proof.Evidence {
	s, err := schedule.Parse("* * * * *", "UTC", schedule.DSTOnce)
	if err != nil {
		t.Fatal(err)
	}
	e := proof.Evidence{
		Revisions: []proof.Revision{{JobID: "a", Schedule: s, From: midnight, To: minute(3), Open: true}},
		Always:    []string{"a"}, Due: minute(3),
	}
	for n := 1; n <= 3; n++ {
		e.Rows = append(e.Rows, succeeded(n))
		e.Effects = append(e.Effects, effect(n))
		e.Requests = append(e.Requests, proof.Request{RunID: id(n), Text: "POST /a"})
	}
	return e
}

func TestAParentHasItsMembersEffects(t *testing.T) {
	e := good(t)
	withMembers(ledger.Succeeded, "b", "a")(&e)
	if found, _ := proof.Check(e); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

func TestWholeEvidenceShowsNoViolation(t *testing.T) {
	found, tally := proof.Check(good(t))
	if len(found) > 0 || tally.Times != 3 || tally.Succeeded != 3 || tally.Effects != 3 {
		t.Errorf("found %v, tally %+v", found, tally)
	}
}

// dead makes the first run dead of this, after these answers.
func dead(why ledger.Reason, answers ...ledger.AnswerKind) func(*proof.Evidence) {
	return func(e *proof.Evidence) {
		r := &e.Rows[0]
		r.State, r.Reason, r.FinishedAt, r.Attempt = ledger.Dead, why, minute(2), len(answers)
		e.Attempts = map[string][]ledger.Attempt{}
		for i, a := range answers {
			e.Attempts[r.ID] = append(e.Attempts[r.ID], ledger.Attempt{RunID: r.ID, N: i + 1, Answer: a})
		}
	}
}

// withMembers makes the first run a parent of a, which succeeded, and b; its target served a list.
func withMembers(b ledger.State, served ...string) func(*proof.Evidence) {
	return func(e *proof.Evidence) {
		e.Rows[0].Call.Each = &ledger.Each{}
		e.Frozen, e.Effects = map[string][]ledger.Member{}, e.Effects[1:]
		for key, state := range map[string]ledger.State{"a": ledger.Succeeded, "b": b} {
			m, _ := jobs.MemberRunID(id(1), key)
			e.Frozen[id(1)] = append(e.Frozen[id(1)], ledger.Member{RunID: m, Key: key})
			r := succeeded(1)
			r.ID, r.Parent, r.State = m, id(1), state
			if state != "" {
				e.Rows = append(e.Rows, r)
			}
			if state == ledger.Succeeded {
				e.Effects = append(e.Effects, proof.Effect{RunID: m, Begun: minute(1), At: minute(1)})
			}
		}
		slices.SortFunc(e.Frozen[id(1)], func(a, b ledger.Member) int { return strings.Compare(a.Key, b.Key) })
		e.Lists = map[string][][]string{id(1): {served}}
	}
}

func TestRules(t *testing.T) {
	missed := func(from, to, count int) ledger.Run {
		return ledger.Run{
			ID: jobs.RangeID("a", minute(from), minute(to)), JobID: "a", ScheduledAt: minute(from), Until: minute(to),
			Count: count, State: ledger.Missed,
		}
	}
	for _, c := range []struct {
		rule  proof.Rule
		spoil func(*proof.Evidence)
	}{
		{proof.Lost, func(e *proof.Evidence) { e.Rows, e.Effects = e.Rows[1:], e.Effects[1:] }},
		{proof.Doubled, func(e *proof.Evidence) { e.Rows = append(e.Rows, e.Rows[0]) }},
		{proof.Doubled, func(e *proof.Evidence) {
			e.Revisions[0].To = minute(6)
			e.Rows = append(e.Rows, missed(4, 6, 3), missed(5, 6, 2))
		}},
		{proof.Stray, func(e *proof.Evidence) {
			r := succeeded(2)
			r.ScheduledAt = r.ScheduledAt.Add(time.Second)
			e.Rows = append(e.Rows, r)
		}},
		{proof.Miscounted, func(e *proof.Evidence) {
			e.Revisions[0].To = minute(6)
			e.Rows = append(e.Rows, missed(4, 6, 2))
		}},
		{proof.Miscounted, func(e *proof.Evidence) { e.Rows = append(e.Rows, missed(2, 3, 1)) }},
		{proof.NoEffect, func(e *proof.Evidence) { e.Effects = e.Effects[1:] }},
		{proof.TwoEffects, func(e *proof.Evidence) { e.Effects = append(e.Effects, effect(2)) }},
		{proof.TwoEffects, func(e *proof.Evidence) {
			e.Rows[1].State = ledger.Dead
			e.Effects = append(e.Effects, effect(2))
		}},
		{proof.NoRun, func(e *proof.Evidence) { e.Effects = append(e.Effects, effect(4)) }},
		{proof.Unplanned, func(e *proof.Evidence) { e.Rows[0].State, e.Rows[0].StartedAt = ledger.Skipped, time.Time{} }},
		{proof.Early, func(e *proof.Evidence) { e.Effects[0].Begun = minute(1).Add(-time.Second) }},
		{proof.Late, func(e *proof.Evidence) { e.Effects[0].Begun = e.Rows[0].SendBefore }},
		{proof.Changed, func(e *proof.Evidence) {
			e.Requests = append(e.Requests, proof.Request{RunID: id(1), Text: "POST /b"})
		}},
		{proof.Stuck, func(e *proof.Evidence) { e.Rows[0].State = ledger.Retrying }},
		{proof.Unsettled, func(e *proof.Evidence) { e.Revisions[0].Open = false }},
		{proof.SentLate, func(e *proof.Evidence) {
			e.Lag, e.Requests[0].Sent = time.Second, e.Rows[0].SendBefore.Add(2*time.Second)
		}},
		{proof.SentLate, func(e *proof.Evidence) {
			e.Keyed = map[string]proof.Keyed{"fn@x": {At: minute(1), SendBefore: minute(2)}}
			e.Requests = append(e.Requests, proof.Request{RunID: "fn@x", Sent: minute(3)})
		}},
		{proof.Late, func(e *proof.Evidence) {
			e.Keyed = map[string]proof.Keyed{"fn@x": {At: minute(1), SendBefore: minute(2)}}
			e.Effects = append(e.Effects, proof.Effect{RunID: "fn@x", Begun: minute(3), At: minute(3)})
		}},
		{proof.TwoEffects, func(e *proof.Evidence) {
			e.Keyed = map[string]proof.Keyed{"fn@x": {At: minute(1), SendBefore: minute(9)}}
			made := proof.Effect{RunID: "fn@x", Begun: minute(3), At: minute(3)}
			e.Effects = append(e.Effects, made, made)
		}},
		{proof.Unheeded, func(e *proof.Evidence) {
			e.Keyed = map[string]proof.Keyed{"fn@x": {At: minute(1), SendBefore: minute(2), Acknowledged: true}}
		}},
		{proof.Slow, func(e *proof.Evidence) {
			e.Rows[0].Call.Horizon, e.Spare = time.Hour, time.Minute
			e.Took = map[string]time.Duration{id(1): time.Hour + time.Minute + 1}
		}},
		{proof.Forgotten, func(e *proof.Evidence) {
			e.Rows[0].Attempt = 2
			e.Attempts = map[string][]ledger.Attempt{id(1): {{N: 2, Answer: ledger.AnswerFresh}}}
		}},
		{proof.Forgotten, func(e *proof.Evidence) {
			e.Attempts, e.Requests[0].Attempt = map[string][]ledger.Attempt{}, 1
		}},
		{proof.Tireless, func(e *proof.Evidence) {
			e.Attempts = map[string][]ledger.Attempt{id(1): {{N: 1, Answer: ledger.AnswerFailed}, {N: 2, Answer: ledger.AnswerUnknown}, {N: 3, Answer: ledger.AnswerFresh}}}
		}},
		{proof.Unfounded, dead(ledger.ReasonExhausted)},
		{proof.Unfounded, dead("")},
		{proof.Unfounded, dead(ledger.ReasonKeyExpired)},
		{proof.Unfounded, dead(ledger.ReasonPermanent, ledger.AnswerFailed)},
		{proof.Unfounded, func(e *proof.Evidence) {
			dead(ledger.ReasonPermanent, ledger.AnswerRefused)(e)
			e.Answered, e.Requests[0].Reason = true, ledger.ReasonPayloadMismatch
		}},
		{proof.Unfounded, func(e *proof.Evidence) { // its retries were given to it again after the first
			dead(ledger.ReasonExhausted, ledger.AnswerFailed)(e)
			e.Renewed = map[string]int{id(1): 1}
		}},
		{proof.Wasted, func(e *proof.Evidence) {
			e.Healthy, e.Begun = minute(3), map[string]time.Time{e.Rows[2].ID: minute(4)}
			e.Rows[2].State = ledger.Dead
		}},
		{proof.Purged, func(e *proof.Evidence) {
			e.Rows[0].FinishedAt = minute(1)
			e.Removed = []proof.Removal{{Run: e.Rows[0], At: minute(11), Retention: 11 * time.Minute}}
		}},
		{proof.Purged, func(e *proof.Evidence) {
			e.Rows[0].State, e.Rows[0].FinishedAt = ledger.Dead, minute(1)
			e.Removed = []proof.Removal{{Run: e.Rows[0], At: minute(11), Retention: time.Minute, DeadRetention: time.Hour}}
		}},
		{proof.Partial, withMembers(ledger.Dead, "a", "b")},
		{proof.Partial, withMembers("", "a", "b")},
		{proof.Deserted, func(e *proof.Evidence) {
			withMembers("", "a", "b")(e)
			e.Rows[0].State, e.Rows[0].Reason = ledger.Dead, ledger.ReasonMembers
		}},
		{proof.Torn, withMembers(ledger.Succeeded, "a")},
		{proof.Torn, func(e *proof.Evidence) {
			withMembers(ledger.Succeeded, "a", "b")(e)
			e.Frozen[id(1)] = e.Frozen[id(1)][:1]
			e.Lists[id(1)] = [][]string{{"a"}}
		}},
		{proof.Gap, func(e *proof.Evidence) {
			later := e.Revisions[0]
			e.Revisions[0].To, e.Revisions[0].Open = minute(1), false
			later.From = minute(1).Add(time.Second)
			e.Revisions = append(e.Revisions, later)
		}},
	} {
		t.Run(string(c.rule), func(t *testing.T) {
			e := good(t)
			c.spoil(&e)
			found, _ := proof.Check(e)
			if len(found) == 0 || slices.ContainsFunc(found, func(v proof.Violation) bool { return v.Rule != c.rule }) {
				t.Errorf("found %v", found)
			}
		})
	}
}

// What is allowed although it is not plain.
func TestWhatIsNoViolation(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*proof.Evidence)
	}{
		{"a range row counts what has no row of its own", func(e *proof.Evidence) {
			e.Revisions[0].To = minute(6)
			e.Rows = append(e.Rows, ledger.Run{
				ID: jobs.RangeID("a", minute(2), minute(6)), JobID: "a", ScheduledAt: minute(2), Until: minute(6), Count: 3, State: ledger.Missed,
			})
		}},
		{"a revision ends where it began", func(e *proof.Evidence) {
			last, none := e.Revisions[0], e.Revisions[0]
			last.From = minute(1)
			none.From, none.To, none.Open = minute(1), minute(1), false
			e.Revisions[0].To, e.Revisions[0].Open = minute(1), false
			e.Revisions = append(e.Revisions, last, none)
		}},
		{"an event comes before the plan", func(e *proof.Evidence) {
			e.Rows, e.Effects = append(e.Rows, succeeded(4)), append(e.Effects, effect(4))
		}},
		{"a platform's schedule is not the ledger's", func(e *proof.Evidence) {
			e.Revisions[0].From = minute(1)
			e.Given = map[string]bool{id(1): true}
		}},
		{"a dead run's effect may have been made", func(e *proof.Evidence) { e.Rows[0].State = ledger.Dead }},
		{"a run that was just planned need not have ended", func(e *proof.Evidence) {
			e.Rows[2].State, e.Rows[2].PlannedAt = ledger.Running, minute(4)
		}},
		{"a dead run whose history bears its reason out", dead(ledger.ReasonExhausted, ledger.AnswerLost, ledger.AnswerInProgress, ledger.AnswerFailed)},
		{"a dead run that was refused", dead(ledger.ReasonPermanent, ledger.AnswerRefused)},
		{"a key that expired", func(e *proof.Evidence) {
			dead(ledger.ReasonKeyExpired)(e)
			e.Rows[0].Attempt, e.Rows[0].FinishedAt = 0, e.Rows[0].SendBefore
		}},
		{"a seen dead run is purged as others are", func(e *proof.Evidence) {
			e.Rows[0].State, e.Rows[0].FinishedAt, e.Rows[0].AckedAt = ledger.Dead, minute(1), minute(2)
			e.Removed = []proof.Removal{{Run: e.Rows[0], At: minute(11), Retention: time.Minute, DeadRetention: time.Hour}}
		}},
		{"a run that failed before all was well", func(e *proof.Evidence) {
			e.Healthy, e.Begun = minute(3), map[string]time.Time{e.Rows[1].ID: minute(2)}
			e.Rows[1].State = ledger.Dead
		}},
		{"two triggers in one second are two runs", func(e *proof.Evidence) {
			for n := range 2 {
				r := succeeded(1)
				r.ID += fmt.Sprint("~", n)
				e.Rows = append(e.Rows, r)
				e.Effects = append(e.Effects, proof.Effect{RunID: r.ID, Begun: minute(1), At: minute(1)})
			}
		}},
		{"clocks differ by less than the skew", func(e *proof.Evidence) {
			e.Skew = time.Minute
			e.Effects[0].Begun = minute(1).Add(-30 * time.Second)
			e.Effects[1].Begun = e.Rows[1].SendBefore.Add(30 * time.Second)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := good(t)
			c.change(&e)
			if found, _ := proof.Check(e); len(found) > 0 {
				t.Errorf("found %v", found)
			}
		})
	}
}
