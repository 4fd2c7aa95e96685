package schedule

import "math/bits"

// civilDate is a date of the proleptic Gregorian calendar.
type civilDate struct{ year, month, day int }

// civil returns the date that is so many days after 1970-01-01. It counts in
// eras of 400 years that begin on 1 March, so that the leap day comes last.
func civil(days int64) civilDate {
	const marchEpoch = 719468 // from 0000-03-01 to 1970-01-01
	days += marchEpoch
	era := floorDiv(days, 146097)
	inEra := int(days - era*146097)
	year := (inEra - inEra/1460 + inEra/36524 - inEra/146096) / 365
	inYear := inEra - (365*year + year/4 - year/100)
	shifted := (5*inYear + 2) / 153 // 0 is March
	c := civilDate{
		year:  year + int(era)*cycleYears,
		month: shifted + 3,
		day:   inYear - (153*shifted+2)/5 + 1,
	}
	if c.month > 12 {
		c.month -= 12
		c.year++
	}
	return c
}

// daysSinceEpoch is the inverse of civil.
func daysSinceEpoch(year, month, dayOfMonth int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(int64(year), cycleYears)
	inEra := year - int(era)*cycleYears
	inYear := (153*(month-3)+2)/5 + dayOfMonth - 1
	return era*146097 + int64(365*inEra+inEra/4-inEra/100+inYear) - 719468
}

func (c *civilDate) nextMonth() {
	if c.month++; c.month > 12 {
		c.year, c.month = c.year+1, 1
	}
}

func (c *civilDate) prevMonth() {
	if c.month--; c.month < 1 {
		c.year, c.month = c.year-1, 12
	}
}

// monthKinds is the number of different months: 28 to 31 days, times the
// weekday of the first.
const monthKinds = 4 * 7

// monthKind numbers a month by its length and first weekday; monthOfKind undoes it.
func monthKind(year, month int) int {
	return (monthLength(year, month)-28)*7 + weekday(daysSinceEpoch(year, month, 1))
}

func monthOfKind(kind int) (length, firstWeekday int) { return 28 + kind/7, kind % 7 }

// weekday returns 0 for Sunday to 6 for Saturday; 1970-01-01 was a Thursday.
func weekday(days int64) int { return int(floorMod(days+4, 7)) }

func monthLength(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// The years that AWS's cron() knows.
const firstYear, lastYear = 1970, 2199

// yearSet is a set of years from firstYear to lastYear.
type yearSet [4]uint64

func (y *yearSet) add(year int) {
	i := year - firstYear
	y[i/64] |= 1 << (i % 64)
}

func (y *yearSet) has(year int) bool {
	i := year - firstYear
	return i >= 0 && year <= lastYear && y[i/64]&(1<<(i%64)) != 0
}

// from returns the first member at or after a year, or 0.
func (y *yearSet) from(year int) int {
	for year = max(year, firstYear); year <= lastYear; {
		i := year - firstYear
		if rest := y[i/64] >> (i % 64); rest != 0 {
			return year + bits.TrailingZeros64(rest)
		}
		year += 64 - i%64
	}
	return 0
}

// upTo returns the last member at or before a year, or 0.
func (y *yearSet) upTo(year int) int {
	for year = min(year, lastYear); year >= firstYear; {
		i := year - firstYear
		if rest := y[i/64] & (2<<(i%64) - 1); rest != 0 {
			return year - i%64 + highest(rest)
		}
		year -= i%64 + 1
	}
	return 0
}

// spans splits the set into its intervals; two neighbors are two spans.
func (y *yearSet) spans() []valueSpan {
	var all []valueSpan
	for first := y.from(firstYear); first != 0; {
		last := first
		for y.has(last + 1) {
			last++
		}
		if last-first < 2 {
			last = first
		}
		all = append(all, valueSpan{first, last})
		first = y.from(last + 1)
	}
	return all
}
