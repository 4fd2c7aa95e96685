package export

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// schedules writes the schedules, their group, and the role by which they
// invoke the function.
func (t *template) schedules() {
	r := t.out.Resources
	r["Schedules"] = Resource{Type: "AWS::Scheduler::ScheduleGroup", Properties: object{}}
	r["SchedulesRole"] = Resource{Type: "AWS::IAM::Role", Properties: object{
		"AssumeRolePolicyDocument": assumedBy("scheduler.amazonaws.com", true),
		"PermissionsBoundary":      boundary(),
		"Policies": []object{policy("cronce",
			statement([]string{"lambda:InvokeFunction"}, arnOf("Function")),
			statement([]string{"sqs:SendMessage"}, arnOf("DeadLetters")),
			useKey(),
		)},
	}}
	t.jobs()
	if !t.options.Stateless {
		t.tick()
	}
}

// tick plans every job. It drives those that have no schedule of their own, and
// accounts for the scheduled times whose events never came, or left a run unfinished.
func (t *template) tick() {
	expression, description := "cron(0/5 * * * ? *)", "every five minutes, what events left"
	if t.everyMinute {
		expression, description = "cron(* * * * ? *)", "every minute, what is due"
	}
	// No job's ID begins with an underscore.
	t.out.Resources["Tick"] = t.schedule("_tick", description, schedule.AWS{Expression: expression, Timezone: "UTC"}, `{"tick":true}`)
}

const (
	// slowTick is how often a tick accounts for what events left, where events
	// drive the jobs.
	slowTick = 5 * time.Minute
	// fastTick is how often it drives jobs itself.
	fastTick = time.Minute
)

func (t *template) tickEvery() time.Duration {
	if t.everyMinute {
		return fastTick
	}
	return slowTick
}

// asksOften reports whether the target of a job's accepted run is asked again more often
// than the slow tick comes.
func asksOften(j jobs.Job) bool {
	return !j.Disabled && j.Async.Within > 0 && j.Async.Poll < slowTick
}

func (t *template) jobs() {
	if t.options.Tick {
		t.everyMinute = true
		return
	}
	t.everyMinute = slices.ContainsFunc(t.reg.Jobs(), asksOften)
	list := slices.DeleteFunc(slices.Clone(t.reg.Jobs()), func(j jobs.Job) bool {
		return j.Disabled || t.options.Stateless && onLedger(j)
	})
	t.scheduled = len(list)
	for _, j := range list {
		t.scheduleJob(j)
	}
}

// errCounted is why a rate has no schedule of its own: a deployment would move
// its scheduled times, and AWS refuses a StartDate that has passed.
var errCounted = errors.New("AWS counts a rate from the deployment unless its minutes divide the hour or its hours divide the day")

// errSpread: AWS's flexible time window would draw a delay of its own.
var errSpread = errors.New("its spread delays each run, and AWS would choose another delay")

func (t *template) scheduleJob(j jobs.Job) {
	at, err := j.ParsedSchedule().AWS()
	if err == nil && at.Align {
		err = errCounted
	}
	if err == nil && j.Spread > 0 {
		err = errSpread
	}
	if err != nil {
		t.leaveToTick(j, err)
		return
	}
	id := logicalID("Job", j.ID)
	if other, taken := t.out.Resources[id]; taken {
		t.refuse("the jobs %q and %q would be one resource, %s, of the template; rename one of them", other.Name, j.ID, id)
		return
	}
	t.out.Resources[id] = t.schedule(j.ID, j.ID, at, inputOf(j))
}

// leaveToTick has the tick drive a job that AWS cannot express.
func (t *template) leaveToTick(j jobs.Job, why error) {
	if t.options.Stateless {
		t.refuse("job %q (%s): %w; leave out --stateless, and the tick drives it", j.ID, j.Schedule, why)
		return
	}
	t.everyMinute = true
	t.out.Ticked = append(t.out.Ticked, Ticked{j.ID, j.Schedule, why})
}

// inputOf is the event: AWS fills in the scheduled time, which is the same on every
// delivery. Its execution id and attempt number are not.
func inputOf(j jobs.Job) string {
	id, _ := json.Marshal(j.ID) // a text always has JSON
	return `{"jobId":` + string(id) + `,"scheduledAt":"<aws.scheduler.scheduled-time>"}`
}

func (t *template) schedule(name, description string, at schedule.AWS, input string) Resource {
	return Resource{Name: name, Type: "AWS::Scheduler::Schedule", Properties: object{
		"Description":                description,
		"GroupName":                  ref("Schedules"),
		"ScheduleExpression":         at.Expression,
		"ScheduleExpressionTimezone": at.Timezone,
		"FlexibleTimeWindow":         object{"Mode": "OFF"},
		"State":                      "ENABLED",
		"KmsKeyArn":                  when("HasKmsKey", ref("KmsKeyArn")),
		"Target": object{
			"Arn":     arnOf("Function"),
			"RoleArn": arnOf("SchedulesRole"),
			"Input":   input,
			"RetryPolicy": object{
				"MaximumEventAgeInSeconds": seconds(t.reg.Platform().EventAge),
				"MaximumRetryAttempts":     185,
			},
			"DeadLetterConfig": object{"Arn": arnOf("DeadLetters")},
		},
	}}
}
