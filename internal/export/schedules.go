package export

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
)

// schedules lists the schedules of the jobs, and the tick. The tick plans every job. It
// drives those that have no schedule of their own, and accounts for the scheduled times
// whose events never came, or left a run unfinished.
func (p *plan) schedules() {
	p.jobs()
	if p.Stateless {
		return
	}
	expression, description := "cron(0/5 * * * ? *)", "every five minutes, what events left"
	if p.everyMinute {
		expression, description = "cron(* * * * ? *)", "every minute, what is due"
	}
	// No job's ID begins with an underscore.
	p.Schedules = append(p.Schedules, entry{"Tick", "_tick", description, expression, "UTC", `{"tick":true}`})
}

const (
	// slowTick is how often a tick accounts for what events left, where events
	// drive the jobs.
	slowTick = 5 * time.Minute
	// fastTick is how often it drives jobs itself.
	fastTick = time.Minute
)

func (p *plan) tickEvery() time.Duration {
	if p.everyMinute {
		return fastTick
	}
	return slowTick
}

// asksOften reports whether the target of a job's accepted run is asked again more often
// than the slow tick comes.
func asksOften(j jobs.Job) bool {
	return !j.Disabled && j.Async.Within > 0 && j.Async.Poll < slowTick
}

func (p *plan) jobs() {
	if p.Tick {
		p.everyMinute = true
		return
	}
	p.everyMinute = slices.ContainsFunc(p.reg.Jobs(), asksOften)
	list := slices.DeleteFunc(slices.Clone(p.reg.Jobs()), func(j jobs.Job) bool {
		return j.Disabled || p.Stateless && onLedger(j)
	})
	p.scheduled = len(list)
	for _, j := range list {
		p.scheduleJob(j)
	}
}

// errCounted is why a rate has no schedule of its own: a deployment would move
// its scheduled times, and AWS refuses a StartDate that has passed.
var errCounted = errors.New("AWS counts a rate from the deployment unless its minutes divide the hour or its hours divide the day")

// errSpread: AWS's flexible time window would draw a delay of its own.
var errSpread = errors.New("its spread delays each run, and AWS would choose another delay")

// errMembers: one event cannot finish such a run.
var errMembers = errors.New("its runs have members (each), which ticks make and events do not")

func (p *plan) scheduleJob(j jobs.Job) {
	at, err := j.ParsedSchedule().AWS()
	if err == nil && at.Align {
		err = errCounted
	}
	if err == nil && j.Spread > 0 {
		err = errSpread
	}
	if err == nil && j.Each != (jobs.Each{}) {
		err = errMembers
	}
	if err != nil {
		p.leaveToTick(j, err)
		return
	}
	id := logicalID("Job", j.ID)
	for _, other := range p.Schedules {
		if other.ID == id {
			p.refuse("the jobs %q and %q would be one resource, %s, of the template; rename one of them", other.Name, j.ID, id)
			return
		}
	}
	p.Schedules = append(p.Schedules, entry{id, j.ID, j.ID, at.Expression, at.Timezone, inputOf(j)})
}

// leaveToTick has the tick drive a job that AWS cannot express.
func (p *plan) leaveToTick(j jobs.Job, why error) {
	if p.Stateless {
		p.refuse("job %q (%s): %w; leave out --stateless, and the tick drives it", j.ID, j.Schedule, why)
		return
	}
	p.everyMinute = true
	p.ticked = append(p.ticked, Ticked{j.ID, j.Schedule, why})
}

// inputOf is the event: AWS fills in the scheduled time, which is the same on every
// delivery. Its execution id and attempt number are not.
func inputOf(j jobs.Job) string {
	id, _ := json.Marshal(j.ID) // a text always has JSON
	return `{"jobId":` + string(id) + `,"scheduledAt":"<aws.scheduler.scheduled-time>"}`
}
