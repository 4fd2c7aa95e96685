package export

import (
	"encoding/json"
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
		"Policies": []object{policy("cronce",
			statement([]string{"lambda:InvokeFunction"}, arnOf("Function")),
			statement([]string{"sqs:SendMessage"}, arnOf("DeadLetters")),
		)},
	}}
	if t.options.Tick {
		r["Tick"] = t.schedule("every minute, what is due", schedule.AWS{Expression: "cron(* * * * ? *)", Timezone: "UTC"}, `{"tick":true}`)
		return
	}
	list := slices.DeleteFunc(slices.Clone(t.reg.Jobs()), func(j jobs.Job) bool { return j.Disabled })
	if len(list) > maxSchedules {
		t.refuse("the registry has %d enabled jobs, and a template has room for %d schedules; let a tick drive them (--tick), or split the registry", len(list), maxSchedules)
		return
	}
	for _, j := range list {
		t.scheduleJob(j)
	}
}

func (t *template) scheduleJob(j jobs.Job) {
	at, err := j.Parsed().AWS()
	if err != nil {
		t.refuse("job %q (%s): %w", j.ID, j.Schedule, err)
		return
	}
	id := logicalID("Job", j.ID)
	if other, taken := t.out.Resources[id]; taken {
		t.refuse("the jobs %q and %q would be one resource, %s, of the template; rename one of them", other.Properties["Description"], j.ID, id)
		return
	}
	s := t.schedule(j.ID, at, inputOf(j))
	if at.Align {
		s.Properties["StartDate"] = j.Parsed().Next(t.options.Now.Add(startMargin)).Format(time.RFC3339)
	}
	if onLedger(j) {
		s.Condition = "HasDatabase"
	}
	t.out.Resources[id] = s
}

// inputOf is the event: AWS fills in the instant, which is the same on every
// delivery. Its execution id and attempt number are not.
func inputOf(j jobs.Job) string {
	id, _ := json.Marshal(j.ID) // a text always has JSON
	return `{"jobId":` + string(id) + `,"scheduledAt":"<aws.scheduler.scheduled-time>"}`
}

func (t *template) schedule(description string, at schedule.AWS, input string) Resource {
	return Resource{Type: "AWS::Scheduler::Schedule", Properties: object{
		"Description":                description,
		"GroupName":                  ref("Schedules"),
		"ScheduleExpression":         at.Expression,
		"ScheduleExpressionTimezone": at.Timezone,
		"FlexibleTimeWindow":         object{"Mode": "OFF"},
		"State":                      "ENABLED",
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
