package operations

import (
	"context"
	"time"

	"github.com/cronce/cronce/jobs"
)

// Upcoming has scheduled times to come and, if the job has a spread, when their runs start, one for each.
type Upcoming struct {
	Times  []string `json:"times"`
	Starts []string `json:"starts,omitempty"`
}

// Next lists n of the job's scheduled times: those after a time, or, where that is zero,
// those whose runs are to start.
func (s *Service) Next(ctx context.Context, id string, after time.Time, n int) (Upcoming, error) {
	j, err := s.registered(ctx, id, "")
	if err != nil {
		return Upcoming{}, err
	}
	if after.IsZero() {
		after = j.DueBy(s.now())
	}
	list := Upcoming{Times: []string{}}
	for _, at := range j.ParsedSchedule().Upcoming(after, n) {
		list.Times = append(list.Times, TimeText(at))
		if j.Spread > 0 {
			list.Starts = append(list.Starts, TimeText(j.DueAt(at)))
		}
	}
	return list, nil
}

// NextOf returns the scheduled time of a job's next run; "" if it is disabled or never due again. A schedule whose
// scheduled times have all passed is legal.
func NextOf(j jobs.Job, now time.Time) string {
	if j.Disabled {
		return ""
	}
	return TimeText(j.NextRun(now))
}
