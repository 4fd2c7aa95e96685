package schedule

import "strings"

// unit is one field of a cron expression: its name, its values and their
// names.
type unit struct {
	name     string
	min, max int
	end      int    // where * and n/step end: max, but 7 is SUN again
	names    string // three letters each, from min on
	hint     string // what may stand there
}

// The fields of a crontab line with seconds, in its order.
const (
	secondField = iota
	minuteField
	hourField
	domField
	monthField
	dowField
	crontabFields
)

var units = [crontabFields]unit{
	{"second", 0, 59, 59, "", "0-59"},
	{"minute", 0, 59, 59, "", "0-59"},
	{"hour", 0, 23, 23, "", "0-23"},
	{"day-of-month", 1, 31, 31, "", "1-31, L, L-n, nW or LW"},
	{"month", 1, 12, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", "1-12 or JAN-DEC"},
	{"day-of-week", 0, 7, 6, weekdayNames, "0-7 or SUN-SAT; AWS cron() counts 1-7 from SUN"},
}

const weekdayNames = "SUNMONTUEWEDTHUFRISAT"

// AWS's day-of-week, and the field that only its cron() has.
var (
	awsDow  = unit{"day-of-week", 1, 7, 7, weekdayNames, "1-7 from SUN, or SUN-SAT; crontab counts 0-7 from SUN"}
	awsYear = unit{"year", firstYear, lastYear, lastYear, "", "1970-2199"}
)

// values are the values of a parsed field.
type values struct {
	bits uint64 // bit n: the value n matches; of day-of-week, bit 0 is SUN
	// star: some item is * or ?, and does not restrict the field.
	star bool
	// wildcard: some item begins with * or ?, a step or not.
	wildcard bool
	special  []dayRule // items that depend on the month
}

// cronFields are the parsed fields of a crontab line or an AWS cron().
type cronFields struct {
	fields [crontabFields]values
	years  *yearSet
}

// parseCrontab reads five fields, or six of which the first is seconds.
func parseCrontab(body span) (expression, error) {
	words := body.words()
	switch len(words) {
	case 5:
		words = append([]span{{"0", body.at}}, words...)
	case 6:
	default:
		return nil, body.fail("schedule", "%d fields; write five (minute hour day-of-month month day-of-week) or six (second first)%s",
			len(words), yearHint(len(words)))
	}
	c := new(cronFields)
	for i, w := range words {
		if err := checkMark(i, w); err != nil {
			return nil, err
		}
		if err := c.parseField(i, w, units[i]); err != nil {
			return nil, err
		}
	}
	return c, c.checkDays(words[domField], words[dowField], words[monthField], span{})
}

// checkMark refuses ? outside the day fields. There it is a star, elsewhere it
// is the mark of an AWS line that has lost its cron(): read with the second
// first, that would fire at another time than its writer means.
func checkMark(i int, field span) error {
	if i == domField || i == dowField || !strings.Contains(field.text, "?") {
		return nil
	}
	return field.fail(units[i].name, "? is valid only in day-of-month and day-of-week; use *, or put cron(...) around an AWS expression")
}

func yearHint(fields int) string {
	if fields == 7 {
		return "; a year can stand in cron(minute hour day-of-month month day-of-week year)"
	}
	return ""
}

// parseAWSCron reads the inside of cron(...).
func parseAWSCron(inner span) (expression, error) {
	words := inner.words()
	if len(words) != 6 {
		return nil, inner.fail("schedule", "%d fields; AWS cron() has six: minute hour day-of-month month day-of-week year", len(words))
	}
	c := new(cronFields)
	c.fields[secondField].bits = 1 // at second 0
	for i, w := range words[:5] {
		u := units[i+1]
		if i+1 == dowField {
			u = awsDow
		}
		if err := checkAny(i+1, w, u); err != nil {
			return nil, err
		}
		if err := c.parseField(i+1, w, u); err != nil {
			return nil, err
		}
	}
	dom, dow := words[2], words[4]
	switch {
	case dom.text == "?" && dow.text == "?":
		return nil, dow.fail("day-of-week", "AWS cron() needs ? in exactly one of day-of-month and day-of-week; here both have it; use * in day-of-month")
	case dom.text != "?" && dow.text != "?":
		return nil, dow.fail("day-of-week", "AWS cron() needs ? in exactly one of day-of-month and day-of-week; "+
			"here neither has it; use ? for the one that does not matter")
	}
	if err := c.parseYears(words[5]); err != nil {
		return nil, err
	}
	return c, c.checkDays(dom, dow, words[3], words[5])
}

// checkAny refuses ? where AWS does: outside the day fields, and in a list.
func checkAny(i int, field span, u unit) error {
	dayField := i == domField || i == dowField
	if !strings.Contains(field.text, "?") || dayField && field.text == "?" {
		return nil
	}
	return field.fail(u.name, "? is valid only alone, and only in day-of-month and day-of-week; use * or %s", u.hint)
}

// parseField reads the items of one field.
func (c *cronFields) parseField(i int, field span, u unit) error {
	v := &c.fields[i]
	for _, item := range field.split(',') {
		rule, special, err := parseDayRule(i, item, u)
		if err != nil {
			return err
		}
		if special {
			v.special = append(v.special, rule)
			continue
		}
		r, err := parseRange(item, u)
		if err != nil {
			return err
		}
		if r.all {
			v.wildcard = true
			v.star = v.star || r.step == 1
		}
		v.bits |= r.bits(u)
	}
	return nil
}

func (c *cronFields) parseYears(field span) error {
	if err := checkAny(crontabFields, field, awsYear); err != nil {
		return err
	}
	if field.text == "*" {
		return nil
	}
	c.years = new(yearSet)
	for _, item := range field.split(',') {
		r, err := parseRange(item, awsYear)
		if err != nil {
			return err
		}
		for y := r.low; y <= r.high; y += r.step {
			c.years.add(y)
		}
	}
	return nil
}
