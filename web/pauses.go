package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// pausesView is the page of pauses of many jobs and holds of targets.
type pausesView struct {
	Rows  []pauseRow
	Ended bool // those that have ended too
	Acts  []actLink
	Now   clock
}

type pauseRow struct {
	operations.Pause
	Of          string
	Begin, Stop time.Time
	Acts        []actLink
}

func (d *Dashboard) pausesPage(r *http.Request) (view, error) {
	v := pausesView{Ended: r.URL.Query().Get("ended") != "", Now: d.clockOf(r)}
	list, err := d.Operations.Pauses(r.Context(), v.Ended)
	if err != nil {
		return view{}, err
	}
	slices.Reverse(list)
	for _, p := range list {
		row := pauseRow{Pause: p, Of: ledger.Selector(p.Selection).String()}
		row.Begin, _ = time.Parse(time.RFC3339, p.From) // as the service writes them
		row.Stop, _ = time.Parse(time.RFC3339, p.Until)
		if id := strconv.FormatInt(p.ID, 10); p.State != operations.PauseEnded {
			row.Acts = d.allowed(r, actLink{operations.ChangePause, "Change…", actPath(operations.ChangePause, "pause", id)},
				actLink{operations.EndPause, "End…", actPath(operations.EndPause, "pause", id)})
		}
		v.Rows = append(v.Rows, row)
	}
	v.Acts = d.allowed(r, actLink{operations.AddPause, "Pause jobs…", actPath(operations.AddPause)},
		actLink{operations.AddPause, "Hold a target…", actPath(operations.AddPause, "kind", string(ledger.PauseHold))})
	return view{Template: "pauses", Title: "Pauses", Section: "Pauses", Data: v}, nil
}

// targetActs are the actions on a target.
func (d *Dashboard) targetActs(r *http.Request, name string) []actLink {
	return d.allowed(r, actLink{operations.AddPause, "Pause its jobs…", actPath(operations.AddPause, "target", name, "until", "1h")},
		actLink{operations.AddPause, "Hold it…", actPath(operations.AddPause, "kind", string(ledger.PauseHold), "target", name, "until", "1h")})
}

// states are those of all jobs, and the pauses of many jobs. A job in one of them is paused.
func (d *Dashboard) states(ctx context.Context) (states []ledger.JobState, pauses []ledger.Pause, err error) {
	if pauses, err = d.Ledger.Pauses(ctx, false); err != nil {
		return nil, nil, err
	}
	states, err = d.Ledger.JobStates(ctx)
	for i := range states {
		if j, found := d.registry().Job(states[i].JobID); found && states[i].PausedAt.IsZero() {
			if p, _ := operations.Paused(pauses, j, d.now()); p != nil {
				states[i].PausedAt = p.From
			}
		}
	}
	return states, pauses, err
}

// pausedItems are the pauses and holds that last, and how many jobs are paused without an end.
func (d *Dashboard) pausedItems(list []ledger.Pause, states []ledger.JobState, now clock) (items []attention) {
	for _, p := range list {
		if now.Before(p.From) || !now.Before(p.Until) {
			continue
		}
		what := "Paused until " + now.exact(p.Until) + ": " + p.Selector.String()
		if p.Kind == ledger.PauseHold {
			what = "Held until " + now.exact(p.Until) + ": nothing is sent to target " + p.Target
		}
		items = append(items, attention{Kind: "skipped", What: what, Do: "By " + p.By + ": " + sentenceOf(p.Why), Link: "/pauses", Since: p.From})
	}
	own := 0
	for _, s := range states {
		if j, found := d.registry().Job(s.JobID); found && !j.Disabled && !s.PausedAt.IsZero() {
			if p, _ := operations.Paused(list, j, now.Time); p == nil {
				own++
			}
		}
	}
	if own > 0 {
		items = append(items, attention{Kind: "skipped", What: counted(own, "job") + " paused without an end",
			Do: "Their scheduled times are skipped until somebody resumes them.", Link: "/jobs?state=paused"})
	}
	return items
}

// pauseAsk is the form of a pause.
type pauseAsk struct {
	Name, ID    string // of the action, and of a pause that is changed
	Kind        string
	From, Until string
	All         bool
	Job         string
	Choices     choices
}

// inFuture reads a time to come.
func inFuture(text string, now time.Time) (time.Time, error) {
	if at, ok := operations.ParseTimeAhead(text, now, time.UTC); ok {
		return at, nil
	}
	return time.Time{}, invalid("\""+text+"\" is not a time.", "Write one as 2006-01-02 15:04 for UTC, or 1h for an hour from now.")
}

// previewAddPause asks for what is to be paused and until when, and says what that stops.
func (d *Dashboard) previewAddPause(r *http.Request, v *actView) error {
	q := r.URL.Query()
	sel := selectionOf(q)
	v.Subject, v.Back = "jobs until a time", "/pauses"
	c := operations.PauseChange{DryRun: true, All: q.Get("all") != "",
		PauseChange: ledger.PauseChange{Kind: ledger.PauseSkip, Selector: ledger.Selector(sel)}}
	if kind := q.Get("kind"); kind != "" {
		c.Kind = ledger.PauseKind(kind)
	}
	v.Pause = &pauseAsk{
		Name: v.Name, Kind: string(c.Kind), From: strings.TrimSpace(q.Get("from")), Until: strings.TrimSpace(q.Get("until")), All: c.All,
		Job: sel.Job, Choices: d.choices(sel),
	}
	v.Lines = []string{"Its scheduled times in the pause are skipped. Runs that are planned or under way go on. It ends by itself."}
	v.CLI = "cronce pauses add --until 1h" + why
	switch c.Kind {
	case ledger.PauseHold:
		v.Subject = "a target: hold it"
		v.Lines = []string{"Nothing is sent to the target. Runs wait, use no retry, and keep their send-before times. It ends by itself."}
	case ledger.PauseCatchUp:
		v.Lines = []string{"Its scheduled times in the pause wait for its end, and are then judged by the job's catch-up as if no process had run."}
	}
	if v.Pause.Until == "" {
		v.Pause.Until = "1h"
		return nil
	}
	if err := v.pauseTimes(&c); err != nil {
		return err
	}
	p, err := d.Operations.ChangePause(r.Context(), c)
	if err != nil {
		return v.refuse(err)
	}
	v.hide("kind", string(c.Kind), "from", stamp(c.From), "until", stamp(c.Until))
	v.hide(selectionPairs(sel)...)
	v.CLI = "cronce pauses hold " + shellQuote(sel.Target) + " --until " + stamp(c.Until) + why
	if c.Kind != ledger.PauseHold {
		flags := append(selectionFlags(sel), [][2]string{{"--from", stamp(c.From)}, {"--until", stamp(c.Until)},
			{"--then", strings.TrimPrefix(string(c.Kind), "skip")}}...)
		v.CLI = commandOf("cronce pauses add", flags) + why
		if c.All {
			v.hide("all", "1")
			v.CLI = commandOf("cronce pauses add --all", flags) + why
		}
	}
	v.Counts = []actCount{{"jobs", p.Jobs}, {"scheduled times in it", p.Times}}
	v.Button = "Pause until " + v.Now.exact(c.Until)
	if c.Kind == ledger.PauseHold {
		v.Button = "Hold until " + v.Now.exact(c.Until)
	}
	return nil
}

func (v *actView) pauseTimes(c *operations.PauseChange) (err error) {
	if v.Pause.From != "" {
		if c.From, err = inFuture(v.Pause.From, v.Now.Time); err != nil {
			return err
		}
	}
	if v.Pause.Until != "" {
		c.Until, err = inFuture(v.Pause.Until, v.Now.Time)
	}
	return err
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// subjectPause looks the pause of an action up.
func (d *Dashboard) subjectPause(r *http.Request, v *actView) (operations.Pause, error) {
	id := r.URL.Query().Get("pause")
	list, err := d.Operations.Pauses(r.Context(), false)
	if err != nil {
		return operations.Pause{}, err
	}
	for _, p := range list {
		if strconv.FormatInt(p.ID, 10) == id {
			v.Subject, v.Back = "pause "+id+": "+ledger.Selector(p.Selection).String(), "/pauses"
			v.hide("pause", id)
			v.Lines = []string{fmt.Sprintf("%s from %s until %s, by %s: %s", p.Kind, v.Now.rewritten(p.From), v.Now.rewritten(p.Until), p.By, p.Why)}
			return p, nil
		}
	}
	return operations.Pause{}, missing("There is no pause \""+id+"\" that has not ended.", "The page Pauses lists all.")
}

func (d *Dashboard) previewEndPause(r *http.Request, v *actView) error {
	p, err := d.subjectPause(r, v)
	v.CLI, v.Button = fmt.Sprintf("cronce pauses end %d%s", p.ID, why), "End it now"
	v.Lines = append(v.Lines, "Scheduled times from now on run again. What was skipped stays skipped; a backfill runs it.")
	return err
}

func (d *Dashboard) previewChangePause(r *http.Request, v *actView) error {
	p, err := d.subjectPause(r, v)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	v.Pause = &pauseAsk{Name: v.Name, ID: q.Get("pause"), From: strings.TrimSpace(q.Get("from")), Until: strings.TrimSpace(q.Get("until"))}
	v.CLI = fmt.Sprintf("cronce pauses change %d --until 2h%s", p.ID, why)
	if v.Pause.From == "" && v.Pause.Until == "" {
		v.Pause.Until = p.Until
		return nil
	}
	var c operations.PauseChange
	if err := v.pauseTimes(&c); err != nil {
		return err
	}
	v.hide("from", stamp(c.From), "until", stamp(c.Until))
	v.CLI = commandOf(fmt.Sprintf("cronce pauses change %d", p.ID), [][2]string{{"--from", stamp(c.From)}, {"--until", stamp(c.Until)}}) + why
	v.Button = "Change it"
	if !c.Until.IsZero() {
		v.Lines = append(v.Lines, "It then ends at "+v.Now.exact(c.Until)+".")
	}
	return nil
}
