package web

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

// heatDays is the number of days in the calendar of a job.
const heatDays = 90

// heat is a calendar of a job's days: a column for each week, Monday on top.
type heat struct {
	Cells         []heatCell
	Months        []heatMonth
	Width, Height int
	Total         int
	Tally         []heatCount
	Label         string
}

type heatCell struct {
	Class, D, Title, Link string
	// Bad is the part of the cell that failed, in class BadClass; "": none, or all.
	Bad, BadClass string
}

type heatMonth struct {
	X    int
	Name string
}

type heatCount struct {
	Kind  kind
	Count int
}

// Sizes of the calendar, in the units of its SVG: from one day to the next, the side of a day, and the room for the names of
// weekdays at the left and of months at the top.
const (
	heatPitch = 21
	heatSide  = 17
	heatLeft  = 30
	heatTop   = 18
)

// newHeat draws days. A day's color says how many of its scheduled times
// succeeded; the lower part of a day with trouble is as high as the share that failed.
func newHeat(jobID string, days []oneDay) heat {
	h := heat{Height: heatTop + 7*heatPitch}
	counts := map[ledger.State]int{}
	most := 0
	for _, d := range days {
		for s, n := range d.ByState {
			counts[s] += n
			h.Total += n
		}
		most = max(most, d.ByState[ledger.Succeeded])
	}
	week, month := 0, time.Month(0)
	for i, d := range days {
		row := (int(d.Start.Weekday()) + 6) % 7 // Monday is 0
		if i > 0 && row == 0 {
			week++
		}
		x, y := heatLeft+week*heatPitch, heatTop+row*heatPitch
		if row == 0 && d.Start.Month() != month && d.Start.Day() <= 7 { // a name over a column that begins in its month
			month = d.Start.Month()
			h.Months = append(h.Months, heatMonth{x, d.Start.Format("Jan")})
		}
		cell := heatCell{
			Title: heatTitle(d),
			Link:  runsPath("job", jobID, "since", d.Start.Format(time.DateOnly), "until", d.Start.Add(day).Format(time.DateOnly)),
		}
		if height, class := badShare(d); height > 0 {
			cell.Class, cell.D = level(d.ByState[ledger.Succeeded], most),
				fmt.Sprintf("M%d %dh%dv%dh-%dz", x, y, heatSide, heatSide-height-2, heatSide)
			cell.BadClass, cell.Bad = class, fmt.Sprintf("M%d %dh%dv%dh-%dz", x, y+heatSide-height, heatSide, height, heatSide)
		} else {
			class, shape := heatLook(d, most)
			cell.Class, cell.D = class, fmt.Sprintf("M%d %d%s", x, y, shape)
		}
		h.Cells = append(h.Cells, cell)
		h.Width = x + heatPitch
	}
	for _, s := range ledger.States {
		if counts[s] > 0 {
			h.Tally = append(h.Tally, heatCount{kind(s), counts[s]})
		}
	}
	h.Label = fmt.Sprintf("Calendar of %d days: %s", len(days), counted(h.Total, "scheduled time"))
	return h
}

func heatTitle(d oneDay) string {
	counts := map[kind]int{}
	total := 0
	for s, n := range d.ByState {
		counts[kind(s)] += n
		total += n
	}
	date := d.Start.Format("Mon 2 Jan 2006 UTC")
	if total == 0 {
		return date + ": no scheduled time"
	}
	return fmt.Sprintf("%s: %s; %s", date, counted(total, "scheduled time"), tally(counts))
}

// The shapes of a day, in a box of 17 by 17.
const (
	square  = "m3 0h11a3 3 0 0 1 3 3v11a3 3 0 0 1-3 3h-11a3 3 0 0 1-3-3v-11a3 3 0 0 1 3-3z"
	crossed = square + "m1.2 3l4.3 4.3 4.3-4.3 1.7 1.7-4.3 4.3 4.3 4.3-1.7 1.7-4.3-4.3-4.3 4.3-1.7-1.7 4.3-4.3-4.3-4.3z"
	hollow  = square + "m.5 2.5v12h10v-12z"
	barred  = square + "m.5 7v3h10v-3z"
	round4  = "m1 8.5a7.5 7.5 0 1 0 15 0a7.5 7.5 0 1 0-15 0z"
	speck   = "m7 7h3v3h-3z"
)

// badShare returns the height of the part of a day that failed, by its share of the scheduled times,
// and its class; 0: none has failed, or none has succeeded. A small share is seen, and a large one
// leaves some of the color of success.
func badShare(d oneDay) (height int, class string) {
	ok, dead, _, _ := outcomes(d.ByState)
	bad := dead + d.ByState[ledger.Missed]
	if ok == 0 || bad == 0 {
		return 0, ""
	}
	class = string(ledger.Dead)
	if dead == 0 {
		class = string(ledger.Missed)
	}
	return min(max(heatSide*bad/(ok+bad), 3), heatSide-5), class
}

// heatLook returns a day's class and shape. What failed goes before what succeeded: one dead run is
// seen in a day of a thousand. Shapes differ too, for people who do not tell the colors apart.
func heatLook(d oneDay, most int) (class, shape string) {
	by := d.ByState
	ok, dead, not, all := outcomes(by)
	switch {
	case all == 0:
		return "n0", speck
	case dead > 0:
		return string(ledger.Dead), crossed
	case by[ledger.Missed] > 0:
		return string(ledger.Missed), hollow
	case ok == 0 && not == all:
		return string(ledger.Skipped), barred
	case ok == 0:
		return string(ledger.Running), round4
	case not > 0:
		return level(ok, most), barred
	}
	return level(ok, most), square
}

// level returns the class of one of four shades, by the share of the busiest day.
func level(n, most int) string {
	return fmt.Sprintf("n%d", 1+min(3, (4*n-1)/max(most, 1)))
}
