package web

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// runFilter is a filter of runs as it was written in the address, so that pages can link to it and show it again.
type runFilter struct {
	operations.Selection
	Reason, Since, Until string
	States               []string
	Unacknowledged       bool
	Parent               string // of an action: its members
}

// Has reports whether a state is among those asked for.
func (f runFilter) Has(s ledger.State) bool { return slices.Contains(f.States, string(s)) }

// parse reads the filter of an address, and returns it as the ledger takes it. Owners, labels and targets are not in
// that: Narrow adds the job IDs that they select. A value that is not valid is a pageError.
func (f *runFilter) parse(q url.Values, now time.Time) (ledger.Filter, error) {
	f.Selection = selectionOf(q)
	f.Reason, f.Since, f.Until = q.Get("reason"), strings.TrimSpace(q.Get("since")), strings.TrimSpace(q.Get("until"))
	f.Unacknowledged = q.Get("unacknowledged") != ""
	out := ledger.Filter{Unacknowledged: f.Unacknowledged}
	for _, list := range q["state"] {
		for _, s := range strings.Split(list, ",") {
			if s == "" {
				continue
			}
			if !slices.Contains(ledger.States, ledger.State(s)) {
				return out, invalid("Unknown state \""+s+"\".", "Valid states: "+join(ledger.States)+".")
			}
			f.States = append(f.States, s)
			out.States = append(out.States, ledger.State(s))
		}
	}
	if f.Reason != "" {
		if out.Reason = ledger.Reason(f.Reason); !slices.Contains(ledger.Reasons, out.Reason) {
			return out, invalid("Unknown reason \""+f.Reason+"\".", "Valid reasons: "+join(ledger.Reasons)+".")
		}
	}
	var err error
	out.Since, out.Until, err = parseSpan(f.Since, f.Until, now)
	return out, err
}

// parseSpan reads the two ends of a span; each may be empty.
func parseSpan(since, until string, now time.Time) (from, to time.Time, err error) {
	if since != "" {
		if from, err = parseTime(since, now); err != nil {
			return from, to, err
		}
	}
	if until != "" {
		if to, err = parseTime(until, now); err != nil {
			return from, to, err
		}
	}
	if refused := operations.CheckSpan(from, to); refused != nil {
		return from, to, invalid(sentenceOf(refused.Error()), "Go back to change it.")
	}
	return from, to, nil
}

func join[T ~string](list []T) string { return strings.Join(operations.Texts(list), ", ") }

// any reports whether the filter leaves out any run.
func (f runFilter) any() bool {
	return !f.IsZero() || f.Reason+f.Since+f.Until != "" || len(f.States) > 0 || f.Unacknowledged
}

// address returns the address of the list with this filter: of the runs older than the one with the ID before, or of
// all if it is "".
func (f runFilter) address(before string, grouped bool) string {
	if f.Parent != "" {
		return runPath(f.Parent)
	}
	pairs := append(f.pairs(), "before", before)
	if f.Unacknowledged {
		pairs = append(pairs, "unacknowledged", "1")
	}
	if grouped {
		pairs = append(pairs, "group", "1")
	}
	return runsPath(pairs...)
}

// pairs returns the names and values of an address that selects the same runs, acknowledged or not.
func (f runFilter) pairs() []string {
	return append(selectionPairs(f.Selection), "parent", f.Parent, "state", strings.Join(f.States, ","), "reason", f.Reason, "since", f.Since,
		"until", f.Until)
}

// exportPairs returns the filter as query parameters of the API: a state each, and true in place of 1.
func (f runFilter) exportPairs() []string {
	pairs := append(selectionPairs(f.Selection), "reason", f.Reason, "since", f.Since, "until", f.Until)
	for _, s := range f.States {
		pairs = append(pairs, "state", s)
	}
	if f.Unacknowledged {
		pairs = append(pairs, "unacknowledged", "true")
	}
	return pairs
}

// words says what the filter selects, for a heading.
func (f runFilter) words() string {
	text := "runs"
	if len(f.States) > 0 {
		text = strings.Join(f.States, " or ") + " runs"
	}
	if f.Parent != "" {
		text = strings.TrimSuffix(text, "runs") + "members of " + f.Parent
	}
	for _, part := range [][2]string{{" of ", strings.TrimPrefix(f.Words(), "job ")}, {", ", strings.ReplaceAll(f.Reason, "_", " ")},
		{" since ", f.Since}, {" until ", f.Until}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text
}

// command returns the command that lists the same runs.
func (f runFilter) command() string {
	words := append([]string{"cronce runs list"}, f.flags()...)
	if f.Unacknowledged {
		words = append(words, "--unacknowledged")
	}
	return strings.Join(words, " ")
}

func (f runFilter) flags() []string {
	return flagWords(append(selectionFlags(f.Selection), [][2]string{
		{"--parent", f.Parent}, {"--state", strings.Join(f.States, ",")}, {"--reason", f.Reason}, {"--since", f.Since}, {"--until", f.Until},
	}...))
}

// cursor reads the run ID behind which a list goes on. The ledger sorts by scheduled time and ID, and the ID has both:
// a list goes on although the run was purged meanwhile.
func cursor(id string) (*ledger.Cursor, error) {
	if id == "" {
		return nil, nil
	}
	at, ok := scheduledAt(id)
	if !ok {
		return nil, invalid("\""+id+"\" is not a run ID.", "Follow the link \"Older\", or start with the newest.")
	}
	return &ledger.Cursor{ScheduledAt: at, ID: id}, nil
}

// scheduledAt reads a run's scheduled time from its ID.
func scheduledAt(runID string) (time.Time, bool) {
	_, rest, _ := strings.Cut(runID, "@")
	if len(rest) < len("2006-01-02T15:04:05Z") {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, rest[:len("2006-01-02T15:04:05Z")])
	return at, err == nil
}
