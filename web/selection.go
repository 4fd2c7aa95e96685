package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/operations"
)

// selectionOf reads which jobs an address selects.
func selectionOf(q url.Values) operations.Selection {
	sel := operations.Selection{Job: strings.TrimSpace(q.Get("job")), Owner: strings.TrimSpace(q.Get("owner")), Target: strings.TrimSpace(q.Get("target"))}
	for _, l := range q["label"] {
		if l = strings.TrimSpace(l); l != "" {
			sel.Labels = append(sel.Labels, l)
		}
	}
	return sel
}

// selectionPairs are the names and values of an address with a selection.
func selectionPairs(sel operations.Selection) []string {
	pairs := []string{"job", sel.Job, "owner", sel.Owner, "target", sel.Target}
	for _, l := range sel.Labels {
		pairs = append(pairs, "label", l)
	}
	return pairs
}

// selectionFlags are the flags of a command with a selection, and their values.
func selectionFlags(sel operations.Selection) (flags [][2]string) {
	for pair := range slices.Chunk(selectionPairs(sel), 2) {
		flags = append(flags, [2]string{"--" + pair[0], pair[1]})
	}
	return flags
}
