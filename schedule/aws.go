package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// AWS is a schedule as Amazon EventBridge Scheduler takes it.
type AWS struct {
	Expression string // cron(...), rate(...) or at(...): ScheduleExpression
	Timezone   string // ScheduleExpressionTimezone
	// Align: AWS counts a rate from its StartDate, which must therefore be
	// one of the scheduled times, such as Next(now).
	Align bool
}

// AWS translates the schedule for EventBridge Scheduler. Its error names what AWS
// cannot express: seconds, both day fields at once, L-n and LW, a list with an item
// that has L, W or #, and a DST policy other than skip whose times a clock change moves.
func (s *Schedule) AWS() (AWS, error) {
	out := AWS{Timezone: s.zone.loc.String()}
	if i, ok := s.expression.(interval); ok {
		out.Timezone = "UTC"
		var err error
		out.Expression, out.Align, err = i.aws()
		return out, err
	}
	if w, ok := s.calendar.(*wallClock); ok && s.dst != DSTSkip && w.differsFromSkip(firstUse(s.expression)) {
		return AWS{}, fmt.Errorf("its times fall into the hour that a clock change of %s skips or repeats, and AWS does what "+
			"dst: skip does there, not dst: %s; write dst: skip, or choose another hour, or timezone: UTC, or let a tick drive the job",
			s.zone.loc, s.dst)
	}
	var err error
	if o, ok := s.expression.(oneTime); ok {
		out.Expression = o.local.Format("at(2006-01-02T15:04:05)")
	} else {
		out.Expression, err = s.expression.(*cronFields).aws()
	}
	return out, err
}

// aws prefers cron(), which is aligned by itself, where the period divides the
// hour or the day.
func (i interval) aws() (expr string, align bool, err error) {
	n := i.seconds
	switch {
	case n%minute != 0:
		return "", false, fmt.Errorf("AWS has no seconds: it cannot fire every %s; use whole minutes, or let a tick drive the job", i.length())
	case n == minute:
		return "cron(* * * * ? *)", false, nil
	case n < hour && hour%n == 0:
		return fmt.Sprintf("cron(0/%d * * * ? *)", n/minute), false, nil
	case n == hour:
		return "cron(0 * * * ? *)", false, nil
	case n < day && n%hour == 0 && day%n == 0:
		return fmt.Sprintf("cron(0 0/%d * * ? *)", n/hour), false, nil
	case n == day:
		return "cron(0 0 * * ? *)", false, nil
	}
	return "rate(" + i.length() + ")", true, nil
}

func (c *cronFields) aws() (string, error) {
	if c.fields[secondField].bits != 1 {
		return "", errors.New("AWS has no seconds; let the job start at second 0, or let a tick drive it")
	}
	dom, dow := c.fields[domField], c.fields[dowField]
	if !dom.star && !dow.star {
		return "", errors.New("AWS cannot fire on days of the month or of the week, whichever comes first; make two jobs of it, or let a tick drive it")
	}
	byMonth, err := dom.awsDays()
	if err != nil {
		return "", err
	}
	byWeek, err := dow.awsWeekdays()
	if err != nil {
		return "", err
	}
	if dow.star {
		byWeek = "?"
	} else {
		byMonth = "?"
	}
	fields := []string{
		awsList(c.fields[minuteField].bits, 0, 59),
		awsList(c.fields[hourField].bits, 0, 23),
		byMonth,
		awsList(c.fields[monthField].bits, 1, 12),
		byWeek,
		c.awsYears(),
	}
	return "cron(" + strings.Join(fields, " ") + ")", nil
}

// awsList writes a set as numbers and ranges.
func awsList(set uint64, low, high int) string {
	if bits.OnesCount64(set) == high-low+1 {
		return "*"
	}
	return awsSpans(spans(set))
}

func (v values) awsDays() (string, error) {
	var items []string
	if v.bits != 0 {
		items = append(items, awsList(v.bits, 1, 31))
	}
	for _, r := range v.special {
		switch {
		case r.kind == lastDay && r.n == 0:
			items = append(items, "L")
		case r.kind == nearestWeekday:
			items = append(items, fmt.Sprintf("%dW", r.n))
		default:
			return "", fmt.Errorf("AWS cannot express %s; let a tick drive the job", r.describe())
		}
	}
	return awsItems(items, len(v.special), "day-of-month")
}

// awsWeekdays counts from 1 = SUN.
func (v values) awsWeekdays() (string, error) {
	var items []string
	if v.bits != 0 {
		items = append(items, awsList(v.bits<<1, 1, 7))
	}
	for _, r := range v.special {
		switch r.kind {
		case nthWeekday:
			items = append(items, fmt.Sprintf("%d#%d", r.n+1, r.k))
		case lastWeekday:
			items = append(items, fmt.Sprintf("%dL", r.n+1))
		case lastOfWeek:
			items = append(items, "L")
		}
	}
	return awsItems(items, len(v.special), "day-of-week")
}

// awsItems joins the items: an L, W or # must stand alone.
func awsItems(items []string, special int, field string) (string, error) {
	if special > 0 && len(items) > 1 {
		return "", fmt.Errorf("AWS takes only one item in %s when it has L, W or #, here are %s; make several jobs of it, or let a tick drive it",
			field, listing(items))
	}
	return strings.Join(items, ","), nil
}

func (c *cronFields) awsYears() string {
	if c.years == nil {
		return "*"
	}
	return awsSpans(c.years.spans())
}

func awsSpans(spans []valueSpan) string {
	return strings.Join(joinSpans(spans, decimal, "-"), ",")
}
