package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// pauseAsk has the fields of the form of a pause as they were written, and the values that it offers.
type pauseAsk struct {
	Name, ID    string // of the action, and of a pause that is changed
	Kind        string
	From, Until string
	All         bool
	Job         string
	Choices     choices
}

// inFuture reads a time to come. An age such as 1h is an hour from now, where parseTime would read an hour ago.
func inFuture(text string, now time.Time) (time.Time, error) {
	if at, ok := operations.ParseTimeAhead(text, now, time.UTC); ok {
		return at, nil
	}
	return time.Time{}, invalid("\""+text+"\" is not a time.", "Write one as 2006-01-02 15:04 for UTC, or 1h for an hour from now.")
}

// previewAddPause asks which jobs or target to pause and until when. Once the address has an end, it says what the
// pause stops, by a dry run.
func (d *Dashboard) previewAddPause(r *http.Request, v *actionView) error {
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
	v.CLI, v.Lines = "cronce pauses add --until 1h"+why, []string{pauseWords(c.Kind)}
	if c.Kind == ledger.PauseHold {
		v.Subject = "a target: hold it"
	}
	if v.Pause.Until == "" { // it was not asked for a preview yet
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
	v.hide("kind", string(c.Kind), "from", operations.TimeText(c.From), "until", operations.TimeText(c.Until))
	v.hide(selectionPairs(sel)...)
	if c.All {
		v.hide("all", "1")
	}
	v.CLI = addPauseCommand(c) + why
	v.Counts = []actionCount{{"jobs", p.Jobs}, {"scheduled times in it", p.Times}}
	if p.Templates > 0 {
		v.Counts = append(v.Counts, actionCount{"templates, with all their schedules", p.Templates})
	}
	v.Button = "Pause until " + v.Now.exact(c.Until)
	if c.Kind == ledger.PauseHold {
		v.Button = "Hold until " + v.Now.exact(c.Until)
	}
	return nil
}

// pauseWords says what a pause of a kind does.
func pauseWords(kind ledger.PauseKind) string {
	switch kind {
	case ledger.PauseHold:
		return "Nothing is sent to the target. Runs wait, use no retry, and keep their send-before times. It ends by itself."
	case ledger.PauseCatchUp:
		return "Its scheduled times in the pause wait for its end, and are then judged by the job's catch-up as if no process had run."
	}
	return "Its scheduled times in the pause are skipped. Runs that are planned or under way go on, backfills too. It ends by itself."
}

// addPauseCommand returns the command that adds a pause or a hold, without its reason.
func addPauseCommand(c operations.PauseChange) string {
	until := operations.TimeText(c.Until)
	if c.Kind == ledger.PauseHold {
		return "cronce pauses hold " + shellQuote(c.Target) + " --until " + until
	}
	command := "cronce pauses add"
	if c.All {
		command += " --all"
	}
	return commandOf(command, append(selectionFlags(operations.Selection(c.Selector)), [][2]string{{"--from", operations.TimeText(c.From)},
		{"--until", until}, {"--then", strings.TrimPrefix(string(c.Kind), "skip")}}...))
}

// pauseTimes reads the two ends of a pause, as they were typed. An end that is left out stays zero:
// now, or unchanged.
func (v *actionView) pauseTimes(c *operations.PauseChange) (err error) {
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

// subjectPause finds the pause that an action is on, among those that have not ended, and describes it on the action's
// page.
func (d *Dashboard) subjectPause(r *http.Request, v *actionView) (operations.Pause, error) {
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
	return operations.Pause{}, missing("The pause \""+id+"\" is unknown or has ended.", "Choose one on the page Pauses.")
}

func (d *Dashboard) previewEndPause(r *http.Request, v *actionView) error {
	p, err := d.subjectPause(r, v)
	v.CLI, v.Button = fmt.Sprintf("cronce pauses end %d%s", p.ID, why), "End it now"
	v.Lines = append(v.Lines, "Scheduled times from now on run again. What was skipped stays skipped; a backfill runs it.")
	return err
}

// previewChangePause asks for the new times first, with the present end filled in. A time that is left out stays as it
// is.
func (d *Dashboard) previewChangePause(r *http.Request, v *actionView) error {
	p, err := d.subjectPause(r, v)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	v.Pause = &pauseAsk{Name: v.Name, ID: q.Get("pause"), From: strings.TrimSpace(q.Get("from")), Until: strings.TrimSpace(q.Get("until"))}
	v.CLI = fmt.Sprintf("cronce pauses change %d --until 2h%s", p.ID, why)
	if v.Pause.From == "" && v.Pause.Until == "" { // it was not asked for a preview yet
		v.Pause.Until = p.Until
		return nil
	}
	var c operations.PauseChange
	if err := v.pauseTimes(&c); err != nil {
		return err
	}
	v.hide("from", operations.TimeText(c.From), "until", operations.TimeText(c.Until))
	v.CLI = commandOf(fmt.Sprintf("cronce pauses change %d", p.ID),
		[][2]string{{"--from", operations.TimeText(c.From)}, {"--until", operations.TimeText(c.Until)}}) + why
	v.Button = "Change it"
	if !c.Until.IsZero() {
		v.Lines = append(v.Lines, "It then ends at "+v.Now.exact(c.Until)+".")
	}
	return nil
}
