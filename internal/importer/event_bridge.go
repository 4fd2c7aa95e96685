package importer

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// awsObject is what the importer reads of the AWS CLI's output: a schedule
// (scheduler get-schedule), a rule (events list-rules, describe-rule), targets of a
// rule (events list-targets-by-rule) or an API destination (events
// describe-api-destination).
type awsObject struct {
	Name        string
	GroupName   string
	Description string
	State       string

	ScheduleExpression         string
	ScheduleExpressionTimezone string
	FlexibleTimeWindow         *struct {
		Mode                   string
		MaximumWindowInMinutes int
	}
	StartDate, EndDate    any
	ActionAfterCompletion string
	EventPattern          string
	Target                *awsTarget

	Rule    string // of Targets
	Targets []awsTarget

	ARN                string `json:"Arn"`
	ApiDestinationArn  string
	InvocationEndpoint string
	HttpMethod         string

	at object
}

type awsTarget struct {
	Arn              string
	Input            string
	InputPath        string
	InputTransformer *struct{}
	RetryPolicy      struct {
		MaximumRetryAttempts     *int
		MaximumEventAgeInSeconds int
	}

	DeadLetterConfig *struct{ Arn string }
	HttpParameters   struct {
		PathParameterValues   []string
		HeaderParameters      map[string]string
		QueryStringParameters map[string]string
	}
}

// awsDump collects the objects of all files: different commands print a rule, its targets and
// their API destinations.
type awsDump struct {
	schedules    []awsObject
	targets      map[string][]awsObject // by their rule; "": the dump does not name it
	destinations map[string]awsObject
}

// eventBridge reads all files together.
func (b *builder) eventBridge(files []File) error {
	dump := awsDump{targets: map[string][]awsObject{}, destinations: map[string]awsObject{}}
	err := each(files, func(o object, a awsObject) error {
		a.at = o
		switch {
		case a.ApiDestinationArn != "":
			dump.destinations[a.ApiDestinationArn] = a
		case a.Targets != nil && a.ScheduleExpression == "":
			dump.targets[a.Rule] = append(dump.targets[a.Rule], a)
		default:
			dump.schedules = append(dump.schedules, a)
		}
		return nil
	}, "Schedules", "Rules", "ApiDestinations")
	if err != nil {
		return err
	}
	named := map[string]int{}
	for _, a := range dump.schedules {
		named[a.Name]++
	}
	for _, a := range dump.schedules {
		e := &entry{file: a.at.file, line: a.at.line, name: a.Name, origin: a.ARN}
		if named[a.Name] > 1 && a.GroupName != "" && a.GroupName != "default" { // a name is that of one group
			e.name = a.GroupName + "-" + a.Name
		}
		a.Target = dump.target(e, a)
		b.take(e, e.awsSchedule(a, dump.destinations))
	}
	for _, rule := range slices.Sorted(maps.Keys(dump.targets)) {
		for _, a := range dump.targets[rule] {
			b.refuse(&entry{file: a.at.file, line: a.at.line, name: rule}, errors.New("targets of a rule that is not in the files, or not "+
				"named here; dump it with aws events list-rules, and add \"Rule\": \"NAME\" to each object of list-targets-by-rule"))
		}
	}
	return nil
}

// target takes what a schedule or a rule calls out of the dump; nil if the files do not
// say it.
func (d *awsDump) target(e *entry, a awsObject) *awsTarget {
	if a.Target != nil {
		return a.Target
	}
	rule := a.Name
	if _, named := d.targets[rule]; !named && len(d.targets) == 1 && len(d.schedules) == 1 {
		rule = "" // list-targets-by-rule does not name it
	}
	list := slices.Clone(a.Targets)
	for _, of := range d.targets[rule] {
		list = append(list, of.Targets...)
	}
	delete(d.targets, rule)
	if len(list) > 1 {
		e.note(NotImported, "the rule has %d targets; only the first is imported", len(list))
	}
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// awsSchedule reads a schedule of EventBridge Scheduler, or a rule. Without its target it becomes a
// placeholder.
func (e *entry) awsSchedule(a awsObject, destinations map[string]awsObject) error {
	switch {
	case a.ScheduleExpression == "" && a.EventPattern != "":
		return errors.New("the rule waits for events and has no schedule; cronce calls at scheduled times")
	case a.ScheduleExpression == "":
		return errors.New("the object has no ScheduleExpression; dump with aws scheduler get-schedule, which list-schedules does not replace")
	case a.EventPattern != "":
		e.note(NotImported, "the rule also waits for events; only its schedule is imported")
	}
	e.describe(a.Description)
	if err := e.awsTimes(a); err != nil {
		return err
	}
	e.job.disabled = e.job.disabled || a.State == "DISABLED"
	e.job.overlap = "allow"
	e.noteOverlap()
	e.note(MissedTimes, "scheduled times that pass while cronce is down are caught up: the latest one, for 24h")
	if a.Target == nil {
		e.placeholder = "the files do not say what the schedule calls (aws scheduler get-schedule and aws events list-targets-by-rule print it)"
		return nil
	}
	return e.awsTarget(*a.Target, destinations)
}

// awsTimes takes over when the schedule fires. With a start or an end, which a registry does not have, the
// job is disabled.
func (e *entry) awsTimes(a awsObject) error {
	e.job.schedule, e.job.timezone = a.ScheduleExpression, cmp.Or(a.ScheduleExpressionTimezone, "UTC")
	e.job.dst = string(schedule.DSTSkip) // as AWS documents it
	s, err := schedule.Parse(e.job.schedule, e.job.timezone, schedule.DSTSkip)
	if err != nil {
		return err
	}
	once := strings.HasPrefix(a.ScheduleExpression, "at(")
	switch {
	case strings.HasPrefix(a.ScheduleExpression, "rate("):
		e.note(Times, "the period counts from 1970-01-01T00:00:00Z, not from the creation of the schedule")
	case s.Location().String() != "UTC":
		e.note(ClockChange,
			"dst: skip keeps the source's times: none in the hour that is skipped, one in the hour that is repeated; once, the "+
				"default, also fires for the skipped hour")
	}
	if w := a.FlexibleTimeWindow; w != nil && w.Mode == "FLEXIBLE" && w.MaximumWindowInMinutes > 0 {
		e.spread(time.Duration(w.MaximumWindowInMinutes)*time.Minute, jobs.MaxSpread(s))
	}
	if (a.StartDate != nil || a.EndDate != nil) && !once { // AWS ignores them for one time
		e.job.disabled = true
		e.note(Times, "the job is disabled: StartDate and EndDate are not taken over, so it would run before and after them; remove "+
			"enabled: false when it may run")
	}
	if a.ActionAfterCompletion == "DELETE" && (once || a.EndDate != nil) {
		e.note(Times, "AWS deletes the schedule after its last time; remove the job then")
	}
	return nil
}

// spread takes a flexible time window over.
func (e *entry) spread(window, most time.Duration) {
	e.job.spread = min(window, most)
	e.note(Times,
		"the flexible window is a spread of %s: cronce delays each run by a fixed time of less than that, AWS by one that it "+
			"chooses; the run ID has the scheduled time", plural.Duration(e.job.spread))
	if window > most {
		e.note(Times,
			"the flexible window of %s is longer than the shortest time between two scheduled times, which a spread cannot exceed",
			plural.Duration(window))
	}
}
