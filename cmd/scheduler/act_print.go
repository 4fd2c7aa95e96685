package main

import (
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// actedJSON is what an act did; of a dry run, what it would have done.
type actedJSON struct {
	DryRun  bool           `json:"dryRun"`
	Changed []runJSON      `json:"changed"`
	Refused []rejectedJSON `json:"refused"`
	Counts  actCounts      `json:"counts"`
}

// actCounts counts by cause: leftOut has the refused runs and those that an act
// by flags leaves out as settled.
type actCounts struct {
	Changed int                  `json:"changed"`
	LeftOut map[ledger.Cause]int `json:"leftOut"`
}

type rejectedJSON struct {
	RunID string       `json:"runId"`
	Cause ledger.Cause `json:"cause"`
	Why   string       `json:"why"`
}

// causeTexts are the causes for people.
var causeTexts = map[ledger.Cause]string{
	ledger.NotThere:       "not in the ledger, or left out by another condition",
	ledger.WrongState:     "in another state",
	ledger.Acknowledged:   "acknowledged before",
	ledger.Rerun:          "rerun as new work",
	ledger.PastSendBefore: "past the send-before time",
	ledger.BesideAnother:  "beside another unfinished run of the job (see --force)",
}

func (a *app) printActed(name string, done ledger.Acted, dryRun bool) error {
	counts := actCounts{len(done.Changed), map[ledger.Cause]int{}}
	for cause, n := range done.LeftOut {
		counts.LeftOut[cause] += n
	}
	for _, r := range done.Refused {
		counts.LeftOut[r.Cause]++
	}
	if a.json {
		out := actedJSON{DryRun: dryRun, Changed: runsJSON(done.Changed), Refused: []rejectedJSON{}, Counts: counts}
		for _, r := range done.Refused {
			out.Refused = append(out.Refused, rejectedJSON{r.RunID, r.Cause, r.Why})
		}
		if err := printJSON(a.out, out); err != nil {
			return err
		}
	} else {
		a.printActedText(name, done, counts, dryRun)
	}
	if len(done.Refused) > 0 {
		return &exit{code: exitFailed}
	}
	return nil
}

func (a *app) printActedText(name string, done ledger.Acted, counts actCounts, dryRun bool) {
	for _, r := range done.Changed {
		state := stateText(r)
		if name == "ack" && !dryRun {
			state += ", acknowledged"
		}
		fmt.Fprintf(a.out, "%s %s\n", r.ID, state)
	}
	for _, r := range done.Refused {
		fmt.Fprintf(a.err, "%s refused: %s\n", r.RunID, r.Why)
	}
	verb := "done"
	if dryRun {
		verb = "would be done"
	}
	left := 0
	for _, n := range counts.LeftOut {
		left += n
	}
	fmt.Fprintf(a.out, "%s: %d %s, %d left out\n", name, counts.Changed, verb, left)
	for _, cause := range ledger.Causes {
		if n := counts.LeftOut[cause]; n > 0 {
			fmt.Fprintf(a.out, "  %d %s%s\n", n, causeTexts[cause], override(name, cause))
		}
	}
}

// override names the flag by which a redrive takes settled runs too.
func override(name string, cause ledger.Cause) string {
	switch {
	case name == "redrive" && cause == ledger.Acknowledged:
		return " (see --include-acknowledged)"
	case name == "redrive" && cause == ledger.Rerun:
		return " (see --may-double)"
	}
	return ""
}
