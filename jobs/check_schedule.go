package jobs

import (
	"errors"

	"github.com/cronce/cronce/schedule"
)

// timing is what a schedule is parsed from.
type timing struct {
	expr, timezone string
	dst            schedule.DST
}

// schedule parses each expression once: of many jobs, most have the schedule of
// another.
func (d *draft) schedule(j Job) (*schedule.Schedule, error) {
	key := timing{j.Schedule, j.Timezone, j.DST}
	if known := d.parsed[key]; known != nil {
		return known, nil
	}
	parsed, err := schedule.Parse(j.Schedule, j.Timezone, j.DST)
	if err == nil {
		d.parsed[key] = parsed
	}
	return parsed, err
}

// parseSchedule places the parser's complaint: at the column that it names
// where the text stands literally in the file, else at the value.
func (d *draft) parseSchedule(path string, j Job) *schedule.Schedule {
	if j.Schedule == "" {
		d.add(path+".schedule", codeMissingSchedule, "the job has no schedule; add one, e.g. `schedule: \"0 3 * * *\"`")
		return nil
	}
	if !oneOf(d.report, path+".dst", "dst", j.DST, schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall) {
		return nil
	}
	parsed, err := d.schedule(j)
	if err == nil {
		return parsed
	}
	field, code, column := "schedule", codeBadSchedule, 0
	var bad *schedule.Error
	if errors.As(err, &bad) {
		column = bad.Column
		if bad.Field == "timezone" {
			code = codeBadTimezone
		}
		if bad.Field == "timezone" && column == 0 {
			field = "timezone"
		}
	}
	at := d.at(path + "." + field)
	if at.text > 0 && column > 0 {
		at.column = at.text + column - 1
	}
	d.addAt(path+"."+field, at, code, "%v", err)
	return nil
}
