package chaos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// What the clients of a storm must find.
const (
	Untrue    proof.Rule = "an answer about a schedule differs from what was committed"
	Unasked   proof.Rule = "a schedule has a content that no client asked for"
	Repeated  proof.Rule = "a change of a schedule was made again"
	Reversed  proof.Rule = "a change of a schedule came before one that was answered earlier"
	Backdated proof.Rule = "a change of a schedule took effect before it was made"
	Postponed proof.Rule = "a change of a schedule took effect after it was made"
	Misquoted proof.Rule = "a run has another content than its scheduled time"
	Overdrawn proof.Rule = "a template's counter differs from its schedules"
)

// stormCheck compares what the clients asked and heard with what was committed.
type stormCheck struct {
	history map[string][]spoken // by key; revision n is item n-1
	asked   map[int64][]try     // by number
	found   []proof.Violation
}

func newStormCheck(list []spoken, tries []try) *stormCheck {
	c := &stormCheck{history: map[string][]spoken{}, asked: map[int64][]try{}}
	for _, t := range tries {
		if t.kind != tryRead && !t.refused() {
			c.asked[t.number] = append(c.asked[t.number], t)
		}
	}
	for _, s := range list {
		switch last := len(c.history[s.key]); {
		case last > 0 && c.history[s.key][last-1].revision == s.revision: // a later generation of the same
			c.history[s.key][last-1].generation = s.generation
		case s.revision != int64(last+1):
			c.add(Untrue, s.key, "revision %d follows %d", s.revision, last)
		default:
			c.history[s.key] = append(c.history[s.key], s)
		}
	}
	return c
}

func (c *stormCheck) add(rule proof.Rule, key, what string, args ...any) {
	c.found = append(c.found, proof.Violation{Rule: rule, Of: jobs.ScheduleID(stormTemplate, key), What: fmt.Sprintf(what, args...)})
}

// committed compares each revision with what was asked.
func (c *stormCheck) committed(tries []try) {
	made := map[int64]int{}
	for key, list := range c.history {
		for i, s := range list {
			if i > 0 && s.generation < list[i-1].generation {
				c.add(Reversed, key, "revision %d has generation %d after %d", s.revision, s.generation, list[i-1].generation)
			}
			switch began := s.began(); {
			case s.from.Before(began):
				c.add(Backdated, key, "revision %d begins at %s, and was made at %s", s.revision, s.from, s.changed)
			case s.from.After(began) && (i == 0 || list[i-1].deleted && s.from.After(list[i-1].from)): // no content holds until then
				c.add(Postponed, key, "revision %d begins at %s, and was made at %s", s.revision, s.from, s.changed)
			}
			if s.deleted {
				if !slices.ContainsFunc(tries, func(t try) bool { return t.kind == tryDelete && t.key == key && t.explains(s) }) {
					c.add(Unasked, key, "revision %d, a deletion", s.revision)
				}
				continue
			}
			made[s.number]++
			asked := c.asked[s.number]
			if !slices.ContainsFunc(asked, func(t try) bool { return t.explains(s) }) {
				c.add(Unasked, key, "revision %d, change %d: %+v", s.revision, s.number, s.said)
			}
			if n := made[s.number]; n > len(asked) || ordered(key) && n > 1 {
				c.add(Repeated, key, "change %d, of %d requests, for revision %d", s.number, len(asked), s.revision)
			}
		}
	}
}

// began is the earliest time from which a content may hold: that of the change, or the second
// before a single scheduled time that had just passed.
func (s spoken) began() time.Time {
	if at, err := time.Parse("at(2006-01-02T15:04:05)", s.said.expr); err == nil && at.Before(s.changed) {
		return at.Add(-time.Second)
	}
	return s.changed
}

// ended is when the content before was replaced. It may have been planned up to a time after
// the beginning of the transaction.
func (s spoken) ended() time.Time { return later(s.changed, s.from) }

// explains reports whether the request can have made the revision.
func (t try) explains(s spoken) bool {
	switch {
	case t.key != s.key, t.refused(), (t.kind == tryDelete) != s.deleted, t.sent.Truncate(time.Microsecond).After(s.changed):
		return false
	case t.taken() && t.effect != string(ledger.ScheduleUnchanged) && (t.revision != s.revision || s.changed.After(t.answered)):
		return false
	}
	return s.deleted || t.number == s.number && t.said.expr == s.said.expr && t.said.until.Equal(s.said.until)
}

// heard compares each answer with the revisions, and with the answers before its request.
func (c *stormCheck) heard(tries []try) {
	byAnswer := slices.Clone(tries)
	slices.SortFunc(byAnswer, func(a, b try) int { return a.answered.Compare(b.answered) })
	slices.SortFunc(tries, func(a, b try) int { return a.sent.Compare(b.sent) })
	floor := map[string]int64{}
	for _, t := range tries {
		for len(byAnswer) > 0 && byAnswer[0].answered.Before(t.sent) {
			if earlier := byAnswer[0]; earlier.taken() {
				floor[earlier.key] = max(floor[earlier.key], earlier.revision)
			}
			byAnswer = byAnswer[1:]
		}
		if !t.taken() {
			continue
		}
		if list := c.history[t.key]; t.revision > int64(len(list)) || t.revision < 1 {
			c.add(Untrue, t.key, "the answer of change %d has revision %d, the last is %d", t.number, t.revision, len(list))
		} else if s := list[t.revision-1]; s.deleted != (t.kind == tryDelete) || !s.deleted && s.number != t.number {
			c.add(Untrue, t.key, "revision %d is of change %d, deleted: %t; the answer is of change %d", t.revision, s.number, s.deleted, t.number)
		}
		changed := t.kind != tryRead && t.effect != string(ledger.ScheduleUnchanged)
		switch least := floor[t.key]; {
		case t.revision < least, changed && t.revision == least:
			c.add(Reversed, t.key, "change %d has revision %d; %d was answered before it was sent", t.number, t.revision, least)
		case changed && t.match > 0 && t.revision != t.match+1:
			c.add(Reversed, t.key, "change %d was allowed for revision %d, and made %d", t.number, t.match, t.revision)
		}
	}
}

// contents are the times in which each content held, up to a time that is planned.
func (c *stormCheck) contents(planned time.Time) (list []proof.Revision, err error) {
	for key, history := range c.history {
		for i, s := range history {
			if s.deleted {
				continue
			}
			times, err := schedule.Parse(s.said.expr, "UTC", "")
			if err != nil {
				return nil, err
			}
			if !s.said.until.IsZero() {
				times = times.EndingAt(s.said.until)
			}
			r := proof.Revision{JobID: jobs.ScheduleID(stormTemplate, key), Schedule: times, From: s.from, To: later(planned, s.from), Open: true}
			if i+1 < len(history) {
				r.To, r.Open = later(history[i+1].ended(), s.from), false
			}
			list = append(list, r)
		}
	}
	return list, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// quoted finds runs whose call has another content than the one that held.
func (c *stormCheck) quoted(rows []ledger.Run) (runs int, err error) {
	for _, r := range rows {
		template, key, _ := jobs.SplitJobID(r.JobID)
		if template != stormTemplate {
			continue
		}
		runs += r.Count
		list := c.history[key]
		if r.Revision < 1 || r.Revision > int64(len(list)) {
			c.add(Misquoted, key, "%s has revision %d of %d", r.ID, r.Revision, len(list))
			continue
		}
		s := list[r.Revision-1]
		ended := int(r.Revision) < len(list) && r.ScheduledAt.After(list[r.Revision].ended())
		number, err := numberIn(r.Call.Body)
		if err != nil {
			return runs, err
		}
		if number != s.number || s.deleted || ended || !r.ScheduledAt.After(s.from) {
			c.add(Misquoted, key, "%s has change %d, revision %d, which is %+v", r.ID, number, r.Revision, s)
		}
	}
	return runs, nil
}

// weathered checks the storm, and adds its schedules to the evidence.
func (f *fleet) weathered(ctx context.Context, s store, e *evidence, rows []ledger.Run) error {
	if f.storm == nil {
		return nil
	}
	list, err := f.spoken(ctx)
	if err != nil {
		return err
	}
	tries := f.storm.tries
	c := newStormCheck(list, tries)
	c.committed(tries)
	c.heard(tries)
	contents, err := c.contents(e.Due)
	if err != nil {
		return err
	}
	if e.keyed, err = c.quoted(rows); err != nil {
		return err
	}
	templates, err := s.Templates(ctx)
	if err != nil {
		return err
	}
	live, err := s.Schedules(ctx, stormFilter)
	if err != nil {
		return err
	}
	live = slices.DeleteFunc(live, func(s ledger.Schedule) bool { return !s.InQuota() })
	if n := cmp.Or(templates...).Schedules; n != len(live) || n > stormMax {
		c.add(Overdrawn, "", "it is %d for %d schedules", n, len(live))
	}
	e.Revisions, e.Seen = append(e.Revisions, contents...), append(e.Seen, c.found...)
	for _, t := range tries {
		switch e.asked++; {
		case t.taken():
			e.taken++
		case !t.refused():
			e.unanswered++
		}
	}
	return nil
}

var stormFilter = ledger.ScheduleFilter{Template: stormTemplate, Limit: 1000}

// unplannedSchedule names a schedule that is not planned up to the time.
func (f *fleet) unplannedSchedule(ctx context.Context, s store, healed time.Time) (string, error) {
	list, err := s.Schedules(ctx, stormFilter)
	for _, each := range list {
		if !each.NextAt.IsZero() && !each.NextAt.After(healed) {
			return fmt.Sprintf("%s is due since %s", each.JobID, each.NextAt), nil
		}
	}
	return "", err
}
