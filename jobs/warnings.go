package jobs

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// quartz matches a schedule with six fields, ? and the number of a weekday, as Quartz has
// them.
var quartz = regexp.MustCompile(`^(?:(?:CRON_)?TZ=\S+\s+)?(?:\S+\s+){3}\?\s+\S+\s+((?:\S*[,-])?[0-9]\S*)$`)

// Warnings returns problems that do not make the registry invalid: enabled jobs that
// have no scheduled time after now, schedules that mean other weekdays in Quartz, and a
// time zone database that is more than a year old if an enabled job depends on it.
func (r *Registry) Warnings(now time.Time) Problems {
	found := Problems{}
	if r.Empty() {
		found = append(found, Problem{File: r.file, Code: codeNoJobs,
			Message: "the registry has no jobs, so only the nightly purge runs; put jobs below \"jobs:\""})
	}
	zoned := false
	for i, j := range r.All() {
		zoned = zoned || !j.Disabled && r.scheduleAt(i).Location() != time.UTC
		if !j.Disabled && r.scheduleAt(i).Next(now).IsZero() {
			found = append(found, r.JobProblem(j.ID, "schedule", codeNeverAgain, fmt.Sprintf(
				"the schedule %s has no scheduled time after now: the job never runs again; set a later time, or remove or disable the job",
				j.Schedule)))
		}
		if m := quartz.FindStringSubmatch(strings.TrimSpace(j.Schedule)); m != nil && !j.Disabled {
			found = append(found, r.JobProblem(j.ID, "schedule", codeQuartz, fmt.Sprintf(
				"the weekdays %s count from SUN=0 here, so the job runs %s. Quartz, whose schedules have six fields and ?, "+
					"counts from SUN=1; write names such as MON-FRI", m[1], j.schedule.Describe())))
		}
	}
	if text := ZonesWarning(now); zoned && text != "" {
		found = append(found, Problem{File: r.file, Code: codeOldZones, Message: text})
	}
	found.Sort()
	return found
}
