package importer

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cronce/cronce/schedule"
)

// crontab reads the lines of a crontab as cronie and Vixie cron do (man 5 crontab).
type crontab struct {
	*builder
	file    string
	zone    string // of CRON_TZ, for the lines below it
	badZone bool
	env     map[string]string
	lines   map[string]int // of variables
}

// crontabs reads all files before it notes the locks, which jobs of several files can share.
func (b *builder) crontabs(files []File) error {
	for _, f := range files {
		b.crontab(f)
	}
	b.noteLocks()
	return nil
}

// crontab reads the lines of one file in their order: a variable is for the jobs below it.
func (b *builder) crontab(f File) {
	c := &crontab{builder: b, file: f.Name, env: map[string]string{}, lines: map[string]int{}}
	for n, line := range strings.Split(string(f.Data), "\n") {
		line = strings.TrimLeft(strings.TrimSuffix(line, "\r"), " \t")
		switch {
		case line == "" || line[0] == '#':
		case c.assignment(line, n+1):
		default:
			c.job(line, n+1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.lines)) {
		if text := string(f.Data); strings.Contains(text, "$"+name) || strings.Contains(text, "${"+name) {
			continue
		}
		c.add(Difference{File: c.file, Line: c.lines[name], Aspect: Output,
			Text: fmt.Sprintf("the variable %s is for the commands; the registry has none", printable(name))})
	}
}

// assignment reads a line NAME=VALUE.
func (c *crontab) assignment(line string, n int) bool {
	name, value, is := strings.Cut(line, "=")
	name = strings.Trim(strings.TrimSpace(name), `"'`)
	if !is || !isName(name) {
		return false
	}
	value = strings.TrimSpace(value)
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		value = value[1 : len(value)-1]
	}
	note := func(aspect Aspect, format string, args ...any) {
		c.add(Difference{File: c.file, Line: n, Aspect: aspect, Text: fmt.Sprintf(format, args...)})
	}
	switch name {
	case "CRON_TZ":
		_, err := schedule.Parse("0 0 * * *", value, "")
		c.zone, c.badZone = value, err != nil
		if c.badZone {
			note(TimeZone, "CRON_TZ is not a time zone; the jobs below are not imported")
		}
	case "TZ":
		note(TimeZone, "TZ sets the zone of commands, not of schedules; CRON_TZ sets that of schedules")
	case "MAILTO", "MAILFROM":
		note(Output, "%s is not taken over; incidents can notify (docs/notifications.md)", name)
	case "RANDOM_DELAY":
		note(Times,
			"RANDOM_DELAY is not taken over; each run begins at its scheduled time, unless its job has the field spread (docs/schedules.md)")
	default:
		c.lines[name] = n
	}
	c.env[name] = value
	return true
}

func (c *crontab) job(line string, n int) {
	e := &entry{file: c.file, line: n}
	e.call.env = maps.Clone(c.env)
	if err := c.read(e, line); err != nil {
		c.refuse(e, err)
		return
	}
	if c.zone == "" {
		e.note(TimeZone,
			"the crontab runs in the zone of its machine, which the file does not say; the job has %s (--timezone sets another)",
			c.options.Timezone)
	}
	if id := c.enter(e); id != "" && e.lock.key != "" && !e.lock.shared {
		c.locks[e.lock.key] = append(c.locks[e.lock.key], Difference{File: e.file, Line: e.line, Job: id})
	}
}

// read reads a line with a job. Its errors do not repeat the command, in which there may be secrets.
func (c *crontab) read(e *entry, line string) error {
	if c.badZone {
		return errors.New("the CRON_TZ is not a time zone; use an IANA name, such as Europe/Berlin")
	}
	expression, rest, err := cutSchedule(strings.TrimPrefix(line, "-"))
	if err != nil {
		return err
	}
	if fieldLike.MatchString(strings.Fields(rest)[0]) {
		return errors.New("the line has more than five schedule fields; cron has no seconds and no years, so the source is of " +
			"another scheduler, and its times are not known")
	}
	if c.options.System {
		user := strings.IndexAny(rest, " \t")
		if user < 0 {
			return errors.New("the line has no command after its user; expected MINUTE HOUR DAY MONTH WEEKDAY USER COMMAND")
		}
		rest = strings.TrimLeft(rest[user:], " \t")
	}
	e.job.schedule, e.job.timezone = expression, c.options.Timezone
	if c.zone != "" {
		e.job.timezone = c.zone
	}
	if !scheduleLike.MatchString(expression) { // an error would repeat words that may be a command's
		return errors.New("the line does not begin with a schedule of cron: names, numbers, ranges, and steps of * or a range")
	}
	if _, err := schedule.Parse(expression, e.job.timezone, ""); err != nil {
		return err
	}
	e.job.overlap, e.job.catchUp = "allow", "none"
	command, stdin := cutPercent(rest)
	if strings.HasSuffix(command, `\`) {
		return errors.New("the line ends with a backslash; cron does not continue a command on the next line")
	}
	if err := e.readLine(command, stdin); err != nil {
		if words := strings.Fields(rest); !c.options.System && len(words) > 1 && !strings.Contains(words[0], "=") &&
			(strings.HasSuffix(words[1], "curl") || strings.HasSuffix(words[1], "wget")) {
			return errors.New("the word before the command looks like a user; --system reads lines with users")
		}
		return err
	}
	if e.job.overlap == "allow" && !e.lock.shared {
		e.noteOverlap()
	}
	return nil
}

// What cron reads as cronce does; it reads 1#2 as 1, and 0/15 as 0, or refuses the line.
const (
	cronValue = `([0-9]+|[A-Za-z]{3})`
	cronItem  = `((\*|` + cronValue + `-` + cronValue + `)(/[0-9]+)?|` + cronValue + `|\$)` // $ is pg_cron's
	cronField = cronItem + `(,` + cronItem + `)*`
)

// scheduleLike matches five fields, and the names that nickname returns.
var scheduleLike = regexp.MustCompile(`^(@[a-z]+|` + cronField + `( ` + cronField + `){4})$`)

// fieldLike matches what is a schedule field where a user or a command is expected.
var fieldLike = regexp.MustCompile(`(?i)^([*?]|[0-9]+([-,/#LW]|$)|(sun|mon|tue|wed|thu|fri|sat)([-,#L]|$))`)

// cutSchedule splits a line into its schedule and the rest.
func cutSchedule(line string) (expression, rest string, err error) {
	fields, rest := 5, line
	if strings.HasPrefix(line, "@") {
		fields = 1
	}
	var words []string
	for range fields {
		rest = strings.TrimLeft(rest, " \t")
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			return "", "", errors.New("the line is too short; expected MINUTE HOUR DAY MONTH WEEKDAY COMMAND")
		}
		words, rest = append(words, rest[:end]), rest[end:]
	}
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" {
		return "", "", errors.New("the line has no command; expected MINUTE HOUR DAY MONTH WEEKDAY COMMAND")
	}
	if fields == 1 {
		expression, err = nickname(words[0])
		return expression, rest, err
	}
	words[0], words[1] = laterStars(words[0], "0-59"), laterStars(words[1], "0-23")
	day, week := words[2], words[4]
	if day[0] != '*' && week[0] != '*' {
		words[2], words[4] = laterStars(day, "1-31"), laterStars(week, "0-6")
	}
	if (day[0] == '*' || week[0] == '*') && restricted(day) && restricted(week) {
		return "", "", errors.New("cron fires on days that match both day-of-month and day-of-week, because one of them begins with " +
			"*; in cronce either suffices, and it cannot express both")
	}
	return strings.Join(words, " "), rest, nil
}

// laterStars writes the stars of a field that does not begin with one as the field's
// span. Cron looks for a star at the first character only: to it, 5,* is a list of all
// days, and no field without a restriction.
func laterStars(field, span string) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		if rest, is := strings.CutPrefix(item, "*"); is && field[0] != '*' {
			items[i] = span + rest
		}
	}
	return strings.Join(items, ",")
}

// restricted reports whether a field of days leaves out any.
func restricted(field string) bool {
	return !slices.ContainsFunc(strings.Split(field, ","), func(item string) bool { return item == "*" || item == "*/1" })
}

// nickname returns the schedule of @daily and the like.
func nickname(word string) (string, error) {
	switch lower := strings.ToLower(word); lower {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return lower, nil
	case "@every_minute":
		return "* * * * *", nil
	case "@reboot":
		return "", errors.New("@reboot has no time; cronce calls at scheduled times")
	}
	return "", errors.New("unknown @ schedule; valid: @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly")
}

// cutPercent splits a command from its standard input: the first % that no backslash
// precedes ends it, the others are line breaks.
func cutPercent(text string) (command, stdin string) {
	var parts []string
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '%':
			b.WriteByte('%')
			i++
		case text[i] == '%':
			parts = append(parts, b.String())
			b.Reset()
		default:
			b.WriteByte(text[i])
		}
	}
	parts = append(parts, b.String())
	return parts[0], strings.Join(parts[1:], "\n")
}
