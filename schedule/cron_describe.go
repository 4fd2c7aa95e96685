package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// manyTimes is the number of times of day that are listed one by one.
const manyTimes = 6

func (c *cronFields) describe() string {
	words := []string{c.describeClock()}
	days := c.describeDays()
	if days == "" && strings.HasPrefix(words[0], "at ") {
		words[0] = "every day " + words[0]
	}
	for _, more := range []string{days, c.describeMonths(), c.describeYears()} {
		if more != "" {
			words = append(words, more)
		}
	}
	return strings.Join(words, " ")
}

func (c *cronFields) describeClock() string {
	s, m, h := c.fields[secondField].bits, c.fields[minuteField].bits, c.fields[hourField].bits
	if bits.OnesCount64(s)*bits.OnesCount64(m)*bits.OnesCount64(h) <= manyTimes {
		return "at " + listing(clockTimes(s, m, h))
	}
	hours := " in " + inWords(h, "hour")
	if n, regular := step(h, 24); regular {
		hours = " of " + every(n, "hour")
		if n == 1 {
			hours = ""
		}
	}
	minutes := clockPart(m, "minute")
	if s == 1 {
		if _, regular := step(m, 60); !regular && hours == "" {
			return "every hour at " + inWords(m, "minute")
		}
		if n, regular := step(h, 24); regular && bits.OnesCount64(m) == 1 {
			return every(n, "hour") + " at " + inWords(m, "minute")
		}
		return minutes + hours
	}
	if n, regular := step(m, 60); regular && n == 1 {
		if _, regular := step(s, 60); regular {
			return clockPart(s, "second") + hours
		}
		return "every minute at " + inWords(s, "second") + hours
	}
	if _, regular := step(m, 60); !regular && hours == "" {
		hours = " of every hour"
	}
	return clockPart(s, "second") + " of " + strings.TrimPrefix(minutes, "at ") + hours
}

// clockPart says "every 5 minutes" or "at minutes 0 and 7".
func clockPart(set uint64, noun string) string {
	if n, regular := step(set, 60); regular {
		return every(n, noun)
	}
	return "at " + inWords(set, noun)
}

func every(n int, noun string) string {
	if n == 1 {
		return "every " + noun
	}
	return fmt.Sprintf("every %d %ss", n, noun)
}

// step reports whether a set comes round evenly from 0 on, and how often.
func step(set uint64, size int) (int, bool) {
	n := size / max(1, bits.OnesCount64(set))
	var even uint64
	for i := 0; i < size; i += n {
		even |= 1 << i
	}
	return n, n < size && size%n == 0 && set == even
}

func clockTimes(seconds, minutes, hours uint64) []string {
	var times []string
	for _, h := range members(hours) {
		for _, m := range members(minutes) {
			for _, s := range members(seconds) {
				text := fmt.Sprintf("%02d:%02d", h, m)
				if seconds != 1 {
					text += fmt.Sprintf(":%02d", s)
				}
				times = append(times, text)
			}
		}
	}
	return times
}

func members(set uint64) []int {
	var all []int
	for ; set != 0; set &= set - 1 {
		all = append(all, bits.TrailingZeros64(set))
	}
	return all
}

// valueSpan is an interval of consecutive members of a set, both ends included.
type valueSpan struct{ low, high int }

// spans splits a set into its intervals; two neighbors are two spans.
func spans(set uint64) []valueSpan {
	var all []valueSpan
	for set != 0 {
		low := bits.TrailingZeros64(set)
		length := bits.TrailingZeros64(^(set >> low))
		if length < 3 {
			length = 1
		}
		all = append(all, valueSpan{low, low + length - 1})
		set &^= (1<<length - 1) << low
	}
	return all
}

// runs names the members of a set: "1", "9 to 17".
func runs(spans []valueSpan, name func(int) string) []string {
	return joinSpans(spans, name, " to ")
}

func joinSpans(spans []valueSpan, name func(int) string, to string) []string {
	var words []string
	for _, s := range spans {
		if s.low == s.high {
			words = append(words, name(s.low))
		} else {
			words = append(words, name(s.low)+to+name(s.high))
		}
	}
	return words
}

// progression returns a set's even step, if it has four members or more.
func progression(set uint64) (step int, ok bool) {
	all := members(set)
	if len(all) < 4 {
		return 0, false
	}
	step = all[1] - all[0]
	for i := range all[1:] {
		if all[i+1]-all[i] != step {
			return 0, false
		}
	}
	return step, step > 1
}

func decimal(n int) string { return fmt.Sprint(n) }

func inWords(set uint64, noun string) string {
	if bits.OnesCount64(set) > 1 {
		noun += "s"
	}
	if n, ok := progression(set); ok {
		return fmt.Sprintf("%s %d to %d by %d", noun, bits.TrailingZeros64(set), highest(set), n)
	}
	return noun + " " + listing(runs(spans(set), decimal))
}

func (c *cronFields) describeDays() string {
	dom, dow := c.fields[domField], c.fields[dowField]
	var ways []string
	if !dom.star {
		ways = append(ways, "on "+listing(dom.monthDays()))
	}
	if !dow.star {
		ways = append(ways, "on "+listing(dow.weekDays()))
	}
	return strings.Join(ways, " or ")
}

func (v values) monthDays() []string {
	var words []string
	if v.bits != 0 {
		words = append(words, inWords(v.bits, "day")+" of the month")
	}
	for _, r := range v.special {
		words = append(words, r.describe())
	}
	return words
}

func (v values) weekDays() []string {
	words := runs(spans(v.bits), func(n int) string { return time.Weekday(n).String() })
	for _, r := range v.special {
		words = append(words, r.describe())
	}
	return words
}

var ordinals = [...]string{"", "first", "second", "third", "fourth", "fifth"}

func (r dayRule) describe() string {
	switch r.kind {
	case lastDay:
		if r.n == 0 {
			return "the last day of the month"
		}
		return fmt.Sprintf("the last day but %d of the month", r.n)
	case nearestWeekday:
		return fmt.Sprintf("the working day nearest to day %d of the month", r.n)
	case lastWorkday:
		return "the last working day of the month"
	case nthWeekday:
		return fmt.Sprintf("the %s %s of the month", ordinals[r.k], time.Weekday(r.n))
	case lastOfWeek:
		return "Saturday"
	}
	return fmt.Sprintf("the last %s of the month", time.Weekday(r.n))
}

func (c *cronFields) describeMonths() string {
	const all = 1<<13 - 2
	months := c.fields[monthField].bits
	if months == all {
		return ""
	}
	return "in " + listing(runs(spans(months), func(n int) string { return time.Month(n).String() }))
}

func (c *cronFields) describeYears() string {
	if c.years == nil {
		return ""
	}
	return "in " + listing(runs(c.years.spans(), decimal))
}
