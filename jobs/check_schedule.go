package jobs

import (
	"errors"

	"github.com/cronce/cronce/jobs/internal/field"
	"github.com/cronce/cronce/schedule"
)

// timing has the fields from which a schedule is parsed.
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
		d.Add(path+".schedule", codeMissingSchedule, "the job has no schedule; add one, e.g. `schedule: \"0 3 * * *\"`")
		return nil
	}
	if !field.OneOf(d.Report, path+".dst", "dst", j.DST, schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall) {
		return nil
	}
	parsed, err := d.schedule(j)
	if err == nil {
		return parsed
	}
	name, code, column := "schedule", codeBadSchedule, 0
	var bad *schedule.Error
	if errors.As(err, &bad) {
		column = bad.Column
		if bad.Field == "timezone" {
			code = codeBadTimezone
		}
		if bad.Field == "timezone" && column == 0 {
			name = "timezone"
		}
	}
	at := d.At(path + "." + name)
	if at.Text > 0 && column > 0 {
		at.Column = at.Text + column - 1
	}
	d.AddAt(path+"."+name, at, code, "%v", err)
	return nil
}
