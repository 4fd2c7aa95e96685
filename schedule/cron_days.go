package schedule

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// dayRule is an item of a day field that depends on the month: L, L-n, nW, LW
// (day-of-month), n#k and nL (day-of-week).
type dayRule struct {
	kind ruleKind
	n    int // L-n: n; nW: the day; n#k and nL: the weekday from SUN = 0
	k    int // n#k: which of them
}

type ruleKind int

const (
	lastDay        ruleKind = iota // L, L-n
	nearestWeekday                 // nW
	lastWorkday                    // LW
	nthWeekday                     // n#k
	lastWeekday                    // nL
	lastOfWeek                     // AWS's L in day-of-week: every Saturday
)

// The expressions are compiled for the first item that may be such a rule, which
// few schedules have.
var (
	domRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:(L)(?:-(\d+))?|(\d+)W|(LW))$`) })
	dowRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:(\w+)#(\d+)|(\d|[A-Z]{3})?L)$`) })
)

// parseDayRule reads such an item; ok is false for any other.
func parseDayRule(i int, item span, u unit) (rule dayRule, ok bool, err error) {
	switch i {
	case domField:
		return parseDomRule(item, u)
	case dowField:
		return parseDowRule(item, u)
	}
	return dayRule{}, false, nil
}

func parseDomRule(item span, u unit) (dayRule, bool, error) {
	if !strings.ContainsAny(item.text, "LlWw") {
		return dayRule{}, false, nil
	}
	m := domRule().FindStringSubmatch(item.text)
	switch {
	case m == nil:
		return dayRule{}, false, nil
	case m[4] != "":
		return dayRule{kind: lastWorkday}, true, nil
	case m[3] != "":
		n, err := u.value(item, m[3])
		return dayRule{kind: nearestWeekday, n: n}, true, err
	}
	n := 0
	if m[2] != "" {
		var err error
		if n, err = strconv.Atoi(m[2]); err != nil || n > 30 {
			return dayRule{}, true, item.fail(u.name, "L-n counts back from the last day; n is 0 to 30")
		}
	}
	return dayRule{kind: lastDay, n: n}, true, nil
}

func parseDowRule(item span, u unit) (dayRule, bool, error) {
	if !strings.ContainsAny(item.text, "Ll#") {
		return dayRule{}, false, nil
	}
	m := dowRule().FindStringSubmatch(item.text)
	switch {
	case m == nil:
		return dayRule{}, false, nil
	case m[1] != "":
		n, err := u.value(item, m[1])
		if err != nil {
			return dayRule{}, true, err
		}
		k, err := strconv.Atoi(m[2])
		if err != nil || k < 1 || k > 5 {
			return dayRule{}, true, item.fail(u.name, "n#k is the k-th such weekday of the month; k is 1 to 5, nL is the last one")
		}
		return dayRule{kind: nthWeekday, n: (n - u.min) % 7, k: k}, true, nil
	case m[3] != "":
		n, err := u.value(item, m[3])
		return dayRule{kind: lastWeekday, n: (n - u.min) % 7}, true, err
	}
	if u.min == awsDow.min {
		return dayRule{kind: lastOfWeek}, true, nil
	}
	return dayRule{}, true, item.fail(u.name, "L follows a weekday here: 5L or FRIL is the month's last Friday; "+
		"for the last day of the week write SAT or SUN")
}

// days returns the rule's days in a month, as bits 1 to 31.
func (r dayRule) days(length, first int) uint32 {
	weekdayOf := func(d int) int { return (first + d - 1) % 7 }
	d := 0
	switch r.kind {
	case lastOfWeek:
		saturday := 1 + (6-first+7)%7
		return 1<<saturday | 1<<(saturday+7) | 1<<(saturday+14) | 1<<(saturday+21) | 1<<(saturday+28)
	case lastDay:
		d = length - r.n
	case nearestWeekday:
		if d = r.n; d > length {
			return 0 // as a plain day that the month has not
		}
		d = nearest(d, length, weekdayOf(d))
	case lastWorkday:
		d = nearest(length, length, weekdayOf(length))
	case nthWeekday:
		d = 1 + (r.n-first+7)%7 + 7*(r.k-1)
	case lastWeekday:
		d = length - (weekdayOf(length)-r.n+7)%7
	}
	if d < 1 || d > length {
		return 0
	}
	return 1 << d
}

// nearest returns the day from Monday to Friday that is nearest to a day and
// in the same month.
func nearest(d, length, weekday int) int {
	switch {
	case weekday == 6 && d > 1:
		return d - 1
	case weekday == 6:
		return d + 2
	case weekday == 0 && d < length:
		return d + 1
	case weekday == 0:
		return d - 2
	}
	return d
}

// calendar lays the fields out as a pattern.
func (c *cronFields) calendar(z *zone, dst DST) calendar {
	wildcard := c.fields[minuteField].wildcard || c.fields[hourField].wildcard
	return newWallClock(c.pattern(), z, dst, wildcard)
}

func (c *cronFields) pattern() pattern {
	p := pattern{
		seconds: c.fields[secondField].bits,
		minutes: c.fields[minuteField].bits,
		hours:   c.fields[hourField].bits,
		months:  uint16(c.fields[monthField].bits),
		years:   c.years,
	}
	for kind := range p.days {
		p.days[kind] = c.daysOf(monthOfKind(kind))
	}
	return p
}

// daysOf returns the matching days of one kind of month. Where both day fields
// are restricted, crontab fires on either.
func (c *cronFields) daysOf(length, first int) uint32 {
	dom, dow := c.fields[domField], c.fields[dowField]
	inMonth := uint32(1)<<(length+1) - 2
	byMonth, byWeek := uint32(dom.bits), uint32(0)
	for d := 1; d <= length; d++ {
		if dow.bits&(1<<((first+d-1)%7)) != 0 {
			byWeek |= 1 << d
		}
	}
	for _, r := range dom.special {
		byMonth |= r.days(length, first)
	}
	for _, r := range dow.special {
		byWeek |= r.days(length, first)
	}
	if dom.star || dow.star {
		return byMonth & byWeek & inMonth
	}
	return (byMonth | byWeek) & inMonth
}

// checkDays refuses days that no month, or none of the years, has.
func (c *cronFields) checkDays(dom, dow, month, year span) error {
	if p := c.pattern(); p.next(0) != noneAfter {
		return nil
	}
	field, text := "day-of-month", dom
	if c.fields[domField].star {
		field, text = "day-of-week", dow
	}
	return text.fail(field, "never fires: there is no such day in month %s%s; for the last day of a month write L", month.text, ofYears(year))
}

func ofYears(year span) string {
	if year.text == "" || year.text == "*" {
		return ""
	}
	return " and year " + year.text
}
