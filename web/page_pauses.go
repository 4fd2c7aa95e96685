package web

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// pausesView is the page of pauses of many jobs and holds of targets.
type pausesView struct {
	Rows    []pauseRow
	Ended   bool // those that have ended too
	Actions []actionLink
	Now     clock
}

// pauseRow is a pause or a hold in the list.
type pauseRow struct {
	operations.Pause
	Of          string
	Begin, Stop time.Time
	Actions     []actionLink
}

// pausesPage is the page /pauses: pauses and holds, the newest first.
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
		id := strconv.FormatInt(p.ID, 10)
		if p.State != operations.PauseEnded {
			row.Actions = d.allowed(r, actionLink{operations.ChangePause, "Change…", actionPath(operations.ChangePause, "pause", id)},
				actionLink{operations.EndPause, "End…", actionPath(operations.EndPause, "pause", id)})
		}
		v.Rows = append(v.Rows, row)
	}
	v.Actions = d.allowed(r, actionLink{operations.AddPause, "Pause jobs…", actionPath(operations.AddPause)},
		actionLink{operations.AddPause, "Hold a target…", actionPath(operations.AddPause, "kind", string(ledger.PauseHold))})
	return view{Template: "pauses", Title: "Pauses", Section: "Pauses", Data: v}, nil
}

// targetActions returns the actions on a target.
func (d *Dashboard) targetActions(r *http.Request, name string) []actionLink {
	return d.allowed(r, actionLink{operations.AddPause, "Pause its jobs…", actionPath(operations.AddPause, "target", name, "until", "1h")},
		actionLink{operations.AddPause, "Hold it…", actionPath(operations.AddPause, "kind", string(ledger.PauseHold), "target", name, "until", "1h")})
}

// pausedItems returns the pauses and holds that last now, and the number of jobs that are paused without an end. They
// are no problems, since somebody wants them; the overview lists them because a forgotten one looks like an outage.
func (d *Dashboard) pausedItems(list []ledger.Pause, states []ledger.JobState, now clock) (items []attention) {
	for _, p := range list {
		if now.Before(p.From) || !now.Before(p.Until) { // planned, or over and not closed yet
			continue
		}
		what := "Paused until " + now.exact(p.Until) + ": " + p.Selector.String()
		if p.Kind == ledger.PauseHold {
			what = "Held until " + now.exact(p.Until) + ": nothing is sent to target " + p.Target
		}
		items = append(items, attention{Kind: pausedKind, What: what, Do: "By " + p.By + ": " + sentenceOf(p.Why), Link: "/pauses", Since: p.From})
	}
	own := 0
	for _, s := range states {
		if j, found := d.registry().Job(s.JobID); found && !j.Disabled && !s.PausedAt.IsZero() {
			own++
		}
	}
	if own > 0 {
		items = append(items, attention{Kind: pausedKind, What: counted(own, "job") + " paused without an end",
			Do: "Their scheduled times are skipped until somebody resumes them.", Link: "/jobs?state=paused"})
	}
	return items
}
