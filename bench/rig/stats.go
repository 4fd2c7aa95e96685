package rig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Late is how late things were.
type Late struct{ P50, P99, Max time.Duration }

// Lateness sorts its argument.
func Lateness(d []time.Duration) Late {
	if len(d) == 0 {
		return Late{}
	}
	slices.Sort(d)
	return Late{d[(len(d)-1)/2], d[(len(d)-1)*99/100], d[len(d)-1]}
}

func (l Late) String() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d)/float64(time.Millisecond)) }
	return ms(l.P50) + " / " + ms(l.P99) + " / " + ms(l.Max)
}

// Median is the middle value, or the mean of the two; 0 of none.
func Median[T cmp.Ordered](values []T, mean func(a, b T) T) (m T) {
	if len(values) == 0 {
		return m
	}
	v := slices.Sorted(slices.Values(values))
	if n := len(v); n%2 == 0 {
		return mean(v[n/2-1], v[n/2])
	}
	return v[len(v)/2]
}

// Spread is a figure of several rounds.
type Spread struct{ Median, Least, Most float64 }

// Spreads summarises one figure of all rounds.
func Spreads(rounds []Result, figure func(Result) float64) Spread {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = figure(r)
	}
	if len(values) == 0 {
		return Spread{}
	}
	mean := func(a, b float64) float64 { return (a + b) / 2 }
	return Spread{Median(values, mean), slices.Min(values), slices.Max(values)}
}

func (s Spread) String() string { return fmt.Sprintf("%.0f (%.0f to %.0f)", s.Median, s.Least, s.Most) }

// Ratios is a figure of one contender beside another's, round by round: the
// two figures of a ratio were measured within seconds of each other.
func Ratios(a, b []Result, figure func(Result) float64) Spread {
	n := min(len(a), len(b))
	pairs := make([]Result, n)
	ratio := map[int]float64{}
	for i := range n {
		pairs[i].Round = i
		if base := figure(b[i]); base != 0 {
			ratio[i] = figure(a[i]) / base
		}
	}
	return Spreads(pairs, func(r Result) float64 { return ratio[r.Round] })
}

// Table prints rows as Markdown.
func Table(head []string, rows [][]string) string {
	var b strings.Builder
	write := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	write(head)
	b.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, r := range rows {
		write(r)
	}
	return b.String()
}
