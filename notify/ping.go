package notify

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// pings tell the heartbeat of a job that a run of it started, and how it ended, in the
// way of healthchecks.io. Each is a ~ run whose ID follows from the run, so that what
// two processes write, or one again after a crash, is one ping. A run's end is sent
// after its start was: a receiver would take the start for the next run's.
type pings struct {
	ledger   Runs
	registry string
	jobs     map[string]jobs.Job // those with a heartbeat
	position string              // in the ledger's changes; "": before them
	known    map[string]time.Time
	waiting  map[string]ledger.Run // ended, and their start is not delivered yet
	written  int                   // since newPings
}

const (
	// pingBack is the age up to which the pings of an ended run are written: the receiver has
	// given up an older one.
	pingBack = time.Hour
	// lastEnded is the number of a job's last runs that may have ended just now, however old their
	// scheduled times are.
	lastEnded = 5
	// startHorizon is the time for which the start of a run is worth a ping.
	startHorizon = 10 * time.Minute
)

// newPings returns the pings of the enabled jobs that have a heartbeat; without a ledger, of none.
func newPings(l Runs, reg *jobs.Registry) *pings {
	p := &pings{ledger: l, registry: reg.Name(), jobs: map[string]jobs.Job{}, known: map[string]time.Time{}, waiting: map[string]ledger.Run{}}
	for _, j := range reg.All() {
		if l != nil && j.HeartbeatURLEnv != "" && !j.Disabled {
			p.jobs[j.ID] = j
		}
	}
	return p
}

// check writes the pings of what has changed since the last check.
func (p *pings) check(ctx context.Context, now time.Time) error {
	if len(p.jobs) == 0 {
		return nil
	}
	changes, err := p.ledger.Changes(ctx, p.position)
	if err != nil {
		return err
	}
	runs := changes.Runs
	if p.position == "" || changes.Lost {
		if runs, err = p.recent(ctx, now); err != nil {
			return err
		}
	}
	for _, r := range p.waiting {
		if err := p.writeRun(ctx, r, now); err != nil {
			return err
		}
	}
	for _, r := range runs {
		old := !r.FinishedAt.IsZero() && now.Sub(r.FinishedAt) >= pingBack // and its pings may be purged
		if _, has := p.jobs[r.JobID]; has && r.Call.Heartbeat && !old {
			if err := p.writeRun(ctx, r, now); err != nil {
				return err
			}
		}
	}
	p.position = changes.Position
	for id, at := range p.known {
		if now.Sub(at) > pingBack {
			delete(p.known, id)
		}
	}
	return nil
}

// recent returns the newest runs of the jobs: those that are unfinished, those that were scheduled
// in the last day, and the last few. It notes the pings that the ledger has.
func (p *pings) recent(ctx context.Context, now time.Time) (runs []ledger.Run, err error) {
	ended := []ledger.State{ledger.Succeeded, ledger.Dead, ledger.Canceled}
	for id, j := range p.jobs {
		written, err := p.ledger.List(ctx, ledger.Filter{JobID: j.HeartbeatJobID(), Limit: 3 * batch})
		if err != nil {
			return nil, err
		}
		for _, ping := range written {
			p.note(ping, now)
		}
		for _, f := range []ledger.Filter{
			{States: ledger.Unfinished, Limit: batch},
			{States: ended, Since: now.Add(-24 * time.Hour), Limit: batch},
			{States: ended, Limit: lastEnded}, // long work ends days after its scheduled time
		} {
			f.JobID = id
			page, err := p.ledger.List(ctx, f)
			if err != nil {
				return nil, err
			}
			runs = append(runs, page...)
		}
	}
	return runs, nil
}

// writeRun writes the pings of a run that the ledger does not have. A finished run waits
// until its start is delivered; it leaves waiting once its end is written.
func (p *pings) writeRun(ctx context.Context, r ledger.Run, now time.Time) error {
	if r.StartedAt.IsZero() || r.Trigger == ledger.ByBackfill {
		return nil // nothing was sent, or it is not of the present
	}
	started, err := p.write(ctx, r, "start", r.StartedAt, "", now)
	if err != nil {
		return err
	}
	if r.State.Finished() && !started {
		p.waiting[r.ID] = r
		return nil
	}
	if r.State.Finished() {
		if err := p.writeEnd(ctx, r, now); err != nil {
			return err
		}
	}
	delete(p.waiting, r.ID)
	return nil
}

// writeEnd writes the ping of how a run ended: success, fail with the last error, or log for a
// canceled one.
func (p *pings) writeEnd(ctx context.Context, r ledger.Run, now time.Time) (err error) {
	kind, text := "success", ""
	switch r.State {
	case ledger.Dead:
		kind = "fail"
		if text, err = p.lastError(ctx, r); err != nil {
			return err
		}
	case ledger.Canceled:
		kind = "log"
	}
	_, err = p.write(ctx, r, kind, r.FinishedAt, text, now)
	return err
}

// lastError returns the error of a run's last attempt; "" if it has none.
func (p *pings) lastError(ctx context.Context, r ledger.Run) (string, error) {
	_, attempts, err := p.ledger.Get(ctx, r.ID)
	if err != nil || len(attempts) == 0 {
		return "", err
	}
	return attempts[len(attempts)-1].Error, nil
}

// write enters a ping, and reports whether it has been delivered, or given up.
func (p *pings) write(ctx context.Context, r ledger.Run, kind string, at time.Time, text string, now time.Time) (over bool, err error) {
	e := p.entry(r, kind, at.UTC().Truncate(time.Second), text)
	if _, known := p.known[e.RunID]; known {
		return true, nil
	}
	got, err := p.ledger.Enter(ctx, e)
	if err != nil {
		return false, err
	}
	if got.Inserted {
		p.written++
	}
	p.note(got.Run, now)
	return got.Run.State.Finished(), nil
}

// note keeps a ping that needs no check any more; a start does until it is delivered.
func (p *pings) note(ping ledger.Run, now time.Time) {
	if ping.State.Finished() || !strings.HasSuffix(ping.ID, "-start") {
		p.known[ping.ID] = now
	}
}

// entry returns a ping as a run.
func (p *pings) entry(r ledger.Run, kind string, at time.Time, text string) ledger.Entry {
	j := p.jobs[r.JobID]
	c := ledger.CallSpec{
		Target: j.HeartbeatTarget(), Method: "POST", Path: "/" + kind,
		Timeout: timeout, Backoff: backoff, Jitter: 0.2, MaxRetryAfter: 15 * time.Minute, Horizon: horizon,
	}
	body := pingBody{RunID: r.ID, State: r.State, Reason: r.Reason, Error: text}
	switch kind {
	case "start":
		c.Backoff, c.Horizon = backoff[:4], startHorizon
		body = pingBody{RunID: r.ID, State: "started"}
	case "success":
		c.Path = ""
	}
	c.Path += "?rid=" + p.rid(r.ID)
	c.Body, _ = json.Marshal(body) // of plain texts
	return ledger.Entry{JobID: j.HeartbeatJobID(), RunSpec: ledger.RunSpec{
		RunID:       j.PingRunID(r.ID, kind, at),
		ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByIncident, Overlap: ledger.OverlapAllow, Call: c,
	}}
}

// pingBody is the body of a ping, which a receiver shows beside it.
type pingBody struct {
	RunID  string        `json:"runId"`
	State  ledger.State  `json:"state"`
	Reason ledger.Reason `json:"reason,omitempty"`
	Error  string        `json:"error,omitempty"`
}

// rid returns a run as a UUID (RFC 9562, version 8): by it the receiver pairs the start and
// the end of runs that overlap.
func (p *pings) rid(runID string) string {
	sum := sha256.Sum256([]byte(p.registry + "/" + runID))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
