package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
	"github.com/cronce/cronce/schedule"
)

// A shift is a change of the clocks that a simulation may be around.
type shift struct {
	zone string
	at   time.Time
}

var shifts = []shift{
	{"America/New_York", time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC)},
	{"America/New_York", time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)},
	{"Europe/London", time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)},
	{"Europe/London", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)},
	{"Australia/Lord_Howe", time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC)},
	{"Australia/Lord_Howe", time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC)},
	{"America/Sao_Paulo", time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC)},
	{"Africa/Casablanca", time.Date(2026, 2, 15, 2, 0, 0, 0, time.UTC)},
	{"Pacific/Apia", time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC)},
	{"Asia/Kathmandu", time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)},
}

// schedules come often, so that a simulation of an hour has many scheduled times; and at
// wall times around which clocks change.
var schedules = []string{
	"* * * * *", "* * * * *", "*/2 * * * *", "*/5 * * * *", "*/20 * * * * *", "@every 45s", "@every 90s",
	"rate(1 minute)", "rate(3 minutes)", "cron(0/2 * * * ? *)", "cron(* 0-3 * * ? *)", "30 2 * * *",
	"5,10,15,20,25,30 1,2 * * *", "0,15,30,45 * * * *", "*/3 0-2 * * *", "@hourly",
}

// plan is what a registry is made from, kept for the next edit.
type plan struct {
	zone    string
	horizon time.Duration
	// longKeys: targets keep keys for redrives after the horizon.
	longKeys bool
	jobs     []jobs.Job
	// template makes schedules at run time; nil: none. A version may be without it.
	template *jobs.Template
	// each has members; nil: no job has.
	each *jobs.Job
	// timed: a platform has the schedules too. An edit leaves them alone, since
	// a store cannot tell the scheduled times of a platform's other schedule from the
	// job's own, and would leave them out of a range row's count.
	timed bool
	// channels are where incidents are told, and alarm says when a run is late.
	channels []jobs.Channel
	alarm    jobs.Alarm
}

// firstPlan draws a registry around a shift.
func firstPlan(r *rand.Rand, zone string) plan {
	p := plan{zone: zone, horizon: pick(r, 2*time.Minute, 5*time.Minute, 20*time.Minute, time.Hour)}
	p.longKeys = p.horizon < 20*time.Minute // drawn already: every other choice stays as it was
	for i := range 1 + r.IntN(5) {
		p.jobs = append(p.jobs, p.job(r, fmt.Sprintf("job-%d", i)))
	}
	return p
}

func (p plan) job(r *rand.Rand, id string) jobs.Job {
	j := jobs.Job{
		ID: id, Schedule: pick(r, schedules...), Timezone: pick(r, "UTC", p.zone, p.zone),
		DST:     pick(r, schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall),
		Target:  pick(r, "books", "members"),
		Path:    fmt.Sprintf("/%s/v%d", id, r.IntN(100)),
		Timeout: pick(r, 2*time.Second, 10*time.Second, 30*time.Second),
		Retry: jobs.Retry{
			Backoff: pick(r, nil, []time.Duration{}, []time.Duration{time.Second, 20 * time.Second},
				slices.Repeat([]time.Duration{3 * time.Second}, 8)),
			Jitter: -1, MaxRetryAfter: time.Minute, Horizon: p.horizon,
		},
		Overlap:       pick(r, jobs.OverlapSkip, jobs.OverlapQueue, jobs.OverlapAllow),
		CatchUp:       pick(r, jobs.CatchUpNone, jobs.CatchUpLatest, jobs.CatchUpAll),
		CatchUpWindow: pick(r, 10*time.Minute, time.Hour, 3*time.Hour),
		MaxInFlight:   pick(r, 0, 0, 1, 3),
	}
	if r.IntN(2) == 0 {
		j.Body = map[string]int{"edition": r.IntN(1000)}
	}
	if len(j.Path)%3 == 0 { // drawn already: every other choice stays as it was
		j.Async = jobs.Async{Within: p.horizon / 2, Poll: 2 * time.Second}
	}
	if len(j.Path)%2 == 0 {
		j.Spread = 15 * time.Second // less than the shortest gap of all schedules
		j.Headers = map[string]string{"X-Interval": "{{previousAt}}/{{scheduledAt}}/{{nextAt}}"}
	}
	return j
}

// edit changes, adds or removes a job.
func (p plan) edit(r *rand.Rand) plan {
	p.jobs = slices.Clone(p.jobs)
	i := r.IntN(len(p.jobs))
	switch id := p.jobs[i].ID; r.IntN(6) {
	case 0:
		p.jobs = append(p.jobs, p.job(r, fmt.Sprintf("job-%d", len(p.jobs)+r.IntN(3)*10)))
	case 1:
		p.jobs[i].Disabled = !p.jobs[i].Disabled
	case 2:
		p.jobs[i].Body = map[string]int{"edition": r.IntN(1000)}
	default:
		edited := p.job(r, id)
		if old := p.jobs[i]; p.timed {
			edited.Schedule, edited.Timezone, edited.DST = old.Schedule, old.Timezone, old.DST
		}
		p.jobs[i] = edited
	}
	return p.unique()
}

func (p plan) unique() plan {
	seen := map[string]bool{}
	p.jobs = slices.DeleteFunc(p.jobs, func(j jobs.Job) bool {
		twice := seen[j.ID]
		seen[j.ID] = true
		return twice
	})
	return p
}

// ttl is hardly more than what the retention proof asks for, or enough for redrives after
// the horizon.
func (p plan) ttl() time.Duration {
	if p.longKeys {
		return 3*p.horizon + jobs.MaxClockSkew
	}
	return p.horizon + jobs.MaxClockSkew + time.Second
}

// registry builds the plan, and checks that it would be let start.
func (p plan) registry() (*jobs.Registry, error) {
	entries := []jobs.Entry{
		jobs.Name("simulation"), jobs.Target{Name: "books", URLEnv: "BOOKS_URL", MaxInFlight: 4},
		jobs.Target{Name: "members", URLEnv: "MEMBERS_URL"},
		jobs.Cleanup{DisabledBecause: "the script purges"}, jobs.KeyTTL{Scope: "route:*", TTL: p.ttl()},
	}
	for _, j := range p.jobs {
		entries = append(entries, j)
	}
	if p.each != nil {
		entries = append(entries, *p.each)
	}
	if p.template != nil {
		entries = append(entries, *p.template)
	}
	for _, c := range p.channels {
		entries = append(entries, c)
	}
	if p.alarm != (jobs.Alarm{}) {
		entries = append(entries, p.alarm)
	}
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		return nil, err
	}
	if problems := retention.Prove(reg); len(problems) > 0 {
		return nil, problems
	}
	return reg, nil
}
