package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func (a *app) jobsCommand() *cobra.Command {
	c := &cobra.Command{Use: "jobs", Short: "List, show, pause and resume jobs", Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(a.jobsListCommand(), a.jobsShowCommand(), a.pauseCommand(), a.resumeCommand())
	return c
}

// jobJSON is a job in --json.
type jobJSON struct {
	ID            string   `json:"id"`
	Schedule      string   `json:"schedule"`
	InWords       string   `json:"inWords"`
	Timezone      string   `json:"timezone"`
	DST           string   `json:"dst"`
	Target        string   `json:"target"`
	Method        string   `json:"method"`
	Path          string   `json:"path"`
	Scopes        []string `json:"scopes"`
	KeyScope      string   `json:"keyScope"`
	Timeout       string   `json:"timeout"`
	Overlap       string   `json:"overlap"`
	CatchUp       string   `json:"catchUp"`
	Enabled       bool     `json:"enabled"`
	Next          string   `json:"next"`
	Watermark     string   `json:"watermark"`
	PausedAt      string   `json:"pausedAt,omitempty"`
	PausedBy      string   `json:"pausedBy,omitempty"`
	PausedWhy     string   `json:"pausedWhy,omitempty"`
	LastRun       *runJSON `json:"lastRun"`
	SlotRun       *runJSON `json:"slotRun,omitempty"` // the unfinished run that has the job's slot
	LastOutcome   *runJSON `json:"lastOutcome"`       // the newest run that succeeded or died
	FailingSince  string   `json:"failingSince,omitempty"`
	Dead          int      `json:"deadUnacknowledged"`
	knownToLedger bool
}

func (a *app) jobsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List jobs with the next scheduled time and the last run",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			reg, err := a.registry()
			if err != nil {
				return err
			}
			all, err := a.jobsOf(c.Context(), reg)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(a.out, all)
			}
			t := a.table("JOB", "SCHEDULE", "NEXT", "CALLS", "LAST RUN", "LAST OUTCOME", "STATE").
				Optional("LAST OUTCOME", "LAST RUN", "NEXT", "SCHEDULE", "CALLS").Folding("LAST OUTCOME")
			for _, j := range all {
				t.Row(j.ID, j.InWords, nextText(j.Next, j.Enabled), j.Method+" "+j.Target+" "+j.Path, lastRun(j), j.outcome(), j.condition())
			}
			return t.Flush()
		},
	}
}

func lastRun(j jobJSON) string {
	if j.LastRun == nil {
		return ""
	}
	text := j.LastRun.ScheduledAt + " " + string(j.LastRun.State)
	if j.LastRun.Waiting != nil {
		text += " (" + string(j.LastRun.Waiting.Code) + ")"
	}
	return text
}

// outcome says whether the job's runs do what they are for: which of them waits,
// and what became of the last one that was sent, whatever was skipped since.
func (j jobJSON) outcome() string {
	var parts []string
	switch {
	case j.SlotRun != nil && j.SlotRun.Waiting != nil:
		parts = append(parts, fmt.Sprintf("waiting since %s (%s)", j.SlotRun.ScheduledAt, j.SlotRun.Waiting.Code))
	case j.LastRun != nil && j.LastRun.Waiting != nil: // earlier runs may wait too
		parts = append(parts, fmt.Sprintf("waiting (%s)", j.LastRun.Waiting.Code))
	}
	if j.LastOutcome != nil && j.FailingSince == "" {
		parts = append(parts, string(j.LastOutcome.State))
	}
	if j.FailingSince != "" {
		parts = append(parts, "failing since "+j.FailingSince)
	}
	if j.Dead > 0 {
		parts = append(parts, fmt.Sprintf("%d dead to acknowledge", j.Dead))
	}
	return strings.Join(parts, ", ")
}

// condition says in a word whether the job is being planned.
func (j jobJSON) condition() string {
	switch {
	case !j.Enabled:
		return "disabled"
	case j.PausedAt != "":
		return "paused"
	case !j.knownToLedger:
		return "new"
	}
	return "active"
}

// jobsOf joins the registry's jobs with what the ledger knows of them; a
// ledger that is not made yet knows nothing.
func (a *app) jobsOf(ctx context.Context, reg *jobs.Registry) ([]jobJSON, error) {
	known := map[string]ledger.JobStatus{}
	if a.ledgerExists() {
		s, err := a.ledgerToRead(ctx)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		statuses, err := s.Jobs(ctx)
		if err != nil {
			return nil, err
		}
		var shown []*ledger.Run
		for _, st := range statuses {
			for _, r := range []*ledger.Run{st.LastRun, st.SlotRun} {
				if r != nil {
					shown = append(shown, r)
				}
			}
		}
		if err := addWaiting(ctx, s, shown...); err != nil {
			return nil, err
		}
		for _, st := range statuses {
			known[st.JobID] = st
		}
	}
	out := []jobJSON{}
	for _, j := range reg.Jobs() {
		st, ok := known[j.ID]
		out = append(out, describeJob(j, st, ok && !st.Ended, a.now()))
	}
	return out, nil
}

func describeJob(j jobs.Job, st ledger.JobStatus, known bool, now time.Time) jobJSON {
	out := jobJSON{
		ID: j.ID, Schedule: j.Schedule, InWords: j.Parsed().Describe(), Timezone: j.Timezone, DST: string(j.DST),
		Target: j.Target, Method: j.Method, Path: j.Path, Scopes: append([]string{}, j.Scopes...),
		KeyScope: j.KeyScope, Timeout: j.Timeout.String(), Overlap: string(j.Overlap), CatchUp: string(j.CatchUp),
		Enabled: !j.Disabled, knownToLedger: known, Next: nextOf(j, now),
		Watermark: instant(st.Watermark), PausedAt: moment(st.PausedAt), PausedBy: st.PausedBy, PausedWhy: st.PausedWhy,
	}
	out.LastRun, out.SlotRun, out.LastOutcome = maybeJSON(st.LastRun), maybeJSON(st.SlotRun), maybeJSON(st.LastOutcome)
	out.FailingSince, out.Dead = instant(st.FailingSince), st.DeadUnseen
	return out
}

// maybeJSON returns nil if there is no run.
func maybeJSON(r *ledger.Run) *runJSON {
	if r == nil {
		return nil
	}
	out := toJSON(*r)
	return &out
}

func (a *app) jobsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show JOB",
		Short: "Show one job: its definition, state and history",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			reg, err := a.registry()
			if err != nil {
				return err
			}
			if _, err := job(reg, args[0]); err != nil {
				return err
			}
			all, err := a.jobsOf(c.Context(), reg)
			if err != nil {
				return err
			}
			for _, j := range all {
				if j.ID == args[0] {
					return a.printJob(c.Context(), j)
				}
			}
			return nil
		},
	}
}

func (a *app) printJob(ctx context.Context, j jobJSON) error {
	events, acts, err := a.pastOf(ctx, j.ID)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(a.out, struct {
			jobJSON
			Events []eventJSON `json:"events"`
			Acts   []actJSON   `json:"acts"` // of operators on the job and its runs, newest first
		}{j, events, actsJSON(acts)})
	}
	t := a.table("JOB", j.ID)
	for _, line := range [][2]string{
		{"schedule", j.Schedule}, {"in words", j.InWords}, {"next", nextText(j.Next, j.Enabled)}, {"watermark", j.Watermark},
		{"calls", j.Method + " " + j.Target + " " + j.Path}, {"scopes", strings.Join(j.Scopes, " ")}, {"key scope", j.KeyScope},
		{"timeout", j.Timeout}, {"overlap", j.Overlap}, {"catch-up", j.CatchUp}, {"last run", lastRun(j)}, {"last outcome", j.outcome()},
		{"state", j.condition()}, {"paused by", j.PausedBy}, {"paused why", j.PausedWhy},
	} {
		t.Row(line[0], line[1])
	}
	for _, e := range events {
		t.Row("event", strings.Join(strings.Fields(strings.Join([]string{e.At, e.Kind, e.Local, e.Zone}, " ")), " "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(acts) > 0 {
		fmt.Fprintln(a.out)
	}
	return a.printActs(acts, true)
}

type eventJSON struct {
	At    string `json:"at"`
	Kind  string `json:"kind"`
	Local string `json:"local,omitempty"`
	Zone  string `json:"zone,omitempty"`
}

// pastOf is what happened to a job: its newest events and acts.
func (a *app) pastOf(ctx context.Context, jobID string) ([]eventJSON, []ledger.Audit, error) {
	out := []eventJSON{}
	if !a.ledgerExists() {
		return out, nil, nil
	}
	s, err := a.ledgerToRead(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	acts, err := s.Audit(ctx, ledger.AuditFilter{JobID: jobID, Limit: ledger.MaxAuditPage})
	if err != nil {
		return nil, nil, err
	}
	events, err := s.Events(ctx, jobID, 20)
	for _, e := range events {
		out = append(out, eventJSON{moment(e.At), string(e.Kind), e.Local, e.Zone})
	}
	return out, acts, err
}
