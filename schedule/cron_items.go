package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// valueRange is an item: low-high/step.
type valueRange struct {
	low, high, step int
	all             bool // written as * or ?
}

// itemParts are those of an item as it is written; "" where it has none. It is
// not a regular expression since every process reads schedules at its start.
type itemParts struct{ star, low, high, step string }

// splitItem reads * or ?, a word or two with - between them, and perhaps / and a
// number.
func splitItem(text string) (p itemParts, ok bool) {
	base, step, stepped := strings.Cut(text, "/")
	if stepped && !all(step, isDigit) {
		return p, false
	}
	p.step = step
	if base == "*" || base == "?" {
		p.star = base
		return p, true
	}
	low, high, ranged := strings.Cut(base, "-")
	p.low, p.high = low, high
	return p, all(low, isWord) && (!ranged || all(high, isWord))
}

// all reports whether a text has characters, all of a kind.
func all(text string, is func(rune) bool) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return !is(c) })
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }

func isWord(c rune) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// parseRange reads an item; its error says why the item is invalid.
func parseRange(item span, u unit) (valueRange, error) {
	p, ok := splitItem(item.text)
	if !ok {
		return valueRange{}, item.fail(u.name, "%s", explain(item.text, u))
	}
	r := valueRange{low: u.min, high: u.end, step: 1, all: p.star != ""}
	var err error
	if !r.all {
		if r.low, err = u.value(item, p.low); err != nil {
			return r, err
		}
		switch {
		case p.high != "":
			if r.high, err = u.value(item, p.high); err != nil {
				return r, err
			}
		case p.step == "":
			r.high = r.low
		default:
			r.high = max(r.low, u.end)
		}
	}
	if p.step != "" {
		r.step, err = strconv.Atoi(p.step)
	}
	switch {
	case err != nil || r.step < 1:
		return r, item.fail(u.name, "a step must be a whole number of at least 1")
	case r.step > u.end-u.min+1:
		return r, item.fail(u.name, "a step of %d never matches twice: the field ends at %d; use @every for this period", r.step, u.end)
	case r.low > r.high:
		return r, item.fail(u.name, "the range runs backwards; write %s", r.forwards(u, p.low, p.high))
	}
	return r, nil
}

// forwards says a backward range as it was meant: over the field's end, with
// its step kept, or swapped where the field does not come round.
func (r valueRange) forwards(u unit, low, high string) string {
	switch {
	case u == awsYear:
		return high + "-" + low
	case r.low > u.end: // crontab's 7 is SUN again
		return fmt.Sprintf("%d for %s, as in %d-%s", u.min, low, u.min, high)
	case r.step == 1:
		return fmt.Sprintf("it as two, such as %s-%d,%d-%s", low, u.end, u.min, high)
	}
	again := u.min + (r.step-(u.end-r.low+1)%r.step)%r.step
	if again > r.high {
		return fmt.Sprintf("%s-%d/%d", low, u.end, r.step)
	}
	return fmt.Sprintf("it as two, such as %s-%d/%d,%d-%s/%d", low, u.end, r.step, again, high, r.step)
}

// value reads a number or a name.
func (u unit) value(item span, text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < u.min || n > u.max {
			return 0, item.fail(u.name, "valid values: %s", u.hint)
		}
		return n, nil
	}
	if i := strings.Index(u.names, strings.ToUpper(text)); len(text) == 3 && i >= 0 && i%3 == 0 {
		return u.min + i/3, nil
	}
	return 0, item.fail(u.name, "valid values: %s", u.hint)
}

// explain says why a text is not an item of a list.
func explain(text string, u unit) string {
	switch {
	case text == "":
		return "an item of the list is missing; valid values: " + u.hint
	case strings.Contains(text, " "):
		return "a field has no blanks"
	}
	return "valid values: " + u.hint + ", ranges (a-b), steps (*/n) and lists of them"
}

// bits returns the values of the range. Days of the week are bits from SUN = 0, whatever the
// field counts from; crontab's 7 is SUN again.
func (r valueRange) bits(u unit) uint64 {
	var bits uint64
	for n := r.low; n <= r.high; n += r.step {
		if u.names == weekdayNames {
			bits |= 1 << ((n - u.min) % 7)
		} else {
			bits |= 1 << n
		}
	}
	return bits
}
