package schedule

import (
	"fmt"
	"strings"
)

// maxExpression bounds the work of parsing; a list of all minutes has 170
// characters.
const maxExpression = 1024

// Parse parses an expression in any of the syntaxes of docs/schedules.md. The timezone is
// an IANA name; "" is UTC. If the expression begins with CRON_TZ= or TZ=, the schedule has
// that zone, also if timezone is "UTC", which is the default. Any other timezone must be
// the same name. The policy "" is DSTOnce. Parse returns an error
// for an expression without any scheduled time. Every error is an [*Error].
func Parse(expr, timezone string, dst DST) (*Schedule, error) {
	body, err := checkText(expr)
	if err != nil {
		return nil, err
	}
	if dst, err = checkDST(dst); err != nil {
		return nil, err
	}
	body, z, err := parseZone(body, timezone)
	if err != nil {
		return nil, err
	}
	f, err := parseExpression(body)
	if err != nil {
		return nil, err
	}
	s := &Schedule{expr: expr, dst: dst, zone: z, expression: f, calendar: f.calendar(z, dst)}
	if s.calendar.next(firstUse(f)) == noTime {
		return nil, body.fail("schedule", "never fires: its local time does not exist in %s, because the clock is put forward over it, "+
			"and the DST policy is %s; choose another time or dst: once", z.loc, dst)
	}
	return s, nil
}

// firstUse returns the second from which an expression must fire. One that names its year may
// lie in the past. A recurring one must fire under the zone's current rules, and not only under
// those of the past.
func firstUse(f expression) int64 {
	if c, ok := f.(*cronFields); ok && c.years == nil {
		return ZonesReleased().Unix()
	}
	return earliest
}

// expression is a schedule as one syntax writes it.
type expression interface {
	calendar(*zone, DST) calendar
	describe() string
}

func checkText(expr string) (span, error) {
	if len(expr) > maxExpression {
		return span{}, span{"", maxExpression}.fail("schedule", "longer than %d characters; use ranges and steps", maxExpression)
	}
	for i := range len(expr) {
		if c := expr[i]; c > '~' || c < ' ' && c != '\t' {
			char := span{string([]rune(expr[i:])[:1]), i}
			return span{}, char.fail("schedule", "only visible ASCII characters and blanks are valid")
		}
	}
	body := span{expr, 0}.trim()
	if body.text == "" {
		return span{}, body.fail("schedule", "empty; write for example \"0 3 * * *\" (every day at 03:00)")
	}
	return body, nil
}

func checkDST(dst DST) (DST, error) {
	switch dst {
	case "":
		return DSTOnce, nil
	case DSTOnce, DSTSkip, DSTWall:
		return dst, nil
	}
	return "", &Error{Field: "dst", Text: string(dst), Message: "valid values: once, skip, wall"}
}

// parseZone takes CRON_TZ= or TZ= off the front and loads the zone.
func parseZone(body span, timezone string) (span, *zone, error) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if !strings.HasPrefix(body.text, prefix) {
			continue
		}
		end := strings.IndexAny(body.text, blanks)
		if end < 0 {
			return span{}, nil, body.fail("timezone", "a blank and the schedule itself must follow")
		}
		name, rest := body.cut(len(prefix), end), body.cut(end, len(body.text)).trim()
		if timezone != "" && timezone != "UTC" && timezone != name.text {
			return span{}, nil, name.fail("timezone", "contradicts the timezone %s; keep one of them", timezone)
		}
		z, err := loadZone(name.text)
		if err != nil {
			return span{}, nil, name.fail("timezone", "%v", err)
		}
		return rest, z, nil
	}
	if timezone == "" {
		timezone = "UTC"
	}
	z, err := loadZone(timezone)
	if err != nil {
		return span{}, nil, &Error{Field: "timezone", Text: timezone, Message: err.Error()}
	}
	return body, z, nil
}

// nicknames are crontab's nicknames.
var nicknames = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

func parseExpression(body span) (expression, error) {
	if strings.HasPrefix(body.text, "@") {
		return parseNickname(body)
	}
	open := strings.IndexByte(body.text, '(')
	if open < 0 {
		return parseCrontab(body)
	}
	name := body.cut(0, open)
	if !strings.HasSuffix(body.text, ")") {
		return nil, body.fail("schedule", "the closing parenthesis is missing; write %s(...)", name.text)
	}
	inner := body.cut(open+1, len(body.text)-1)
	switch name.text {
	case "cron":
		return parseAWSCron(inner)
	case "rate":
		return parseRate(inner)
	case "at":
		return parseAt(inner)
	}
	return nil, name.fail("schedule", "write cron(...), rate(...) or at(...), in small letters")
}

func parseNickname(body span) (expression, error) {
	if expr, ok := nicknames[body.text]; ok {
		return parseCrontab(span{expr, body.at})
	}
	words := body.words()
	switch {
	case words[0].text == "@every" && len(words) == 2:
		return parseEvery(words[1])
	case words[0].text == "@every":
		return nil, body.fail("@every", "write one duration after it, such as @every 5m or @every 1h30m")
	case words[0].text == "@reboot":
		return nil, body.fail("schedule", "not supported: replicas start at different times, so they cannot agree on one; "+
			"use a schedule, or run the job with `cronce trigger`")
	}
	return nil, body.fail("schedule", "write @hourly, @daily (@midnight), @weekly, @monthly, @yearly (@annually) or @every <duration>%s",
		lowerHint(body.text))
}

func lowerHint(text string) string {
	if lower := strings.ToLower(text); lower != text && nicknames[lower] != "" {
		return fmt.Sprintf("; names are in small letters: %s", lower)
	}
	return ""
}
