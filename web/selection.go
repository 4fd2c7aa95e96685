package web

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
)

// selectionOf reads which jobs an address selects.
func selectionOf(q url.Values) operations.Selection {
	sel := operations.Selection{Job: strings.TrimSpace(q.Get("job")), Owner: strings.TrimSpace(q.Get("owner")),
		Target: strings.TrimSpace(q.Get("target"))}
	for _, l := range q["label"] {
		if l = strings.TrimSpace(l); l != "" {
			sel.Labels = append(sel.Labels, l)
		}
	}
	return sel
}

// selectionPairs returns the names and values by which an address has a selection.
func selectionPairs(sel operations.Selection) []string {
	pairs := []string{"job", sel.Job, "owner", sel.Owner, "target", sel.Target}
	for _, l := range sel.Labels {
		pairs = append(pairs, "label", l)
	}
	return pairs
}

// selectionFlags returns the flags by which a command has a selection, and their values.
func selectionFlags(sel operations.Selection) (flags [][2]string) {
	for pair := range slices.Chunk(selectionPairs(sel), 2) {
		flags = append(flags, [2]string{"--" + pair[0], pair[1]})
	}
	return flags
}

// commandOf returns a command with those of the flags that have a value, quoted for a shell.
func commandOf(command string, flags [][2]string) string {
	return strings.Join(append([]string{command}, flagWords(flags)...), " ")
}

// flagWords returns the words of flags that have a value, quoted for a shell.
func flagWords(flags [][2]string) (words []string) {
	for _, f := range flags {
		if f[1] != "" {
			words = append(words, f[0], shellQuote(f[1]))
		}
	}
	return words
}

// choices has the values that a form offers to select jobs by.
type choices struct {
	operations.Selection
	Owners, Targets, Names []string // Names are labels, each name=value
	Label                  string   // the first that is chosen
	More                   []string // the others
}

// choices returns the values of the registry, and those that are chosen.
func (d *Dashboard) choices(sel operations.Selection) choices {
	owners, targets, labels := map[string]bool{sel.Owner: true}, map[string]bool{sel.Target: true}, map[string]bool{}
	for _, j := range d.registry().All() {
		owners[j.Owner], targets[j.Target] = true, true
		for name, value := range j.Labels {
			labels[name+"="+value] = true
		}
	}
	delete(targets, jobs.BuiltinTarget)
	c := choices{Selection: sel}
	if len(sel.Labels) > 0 {
		c.Label, c.More = sel.Labels[0], sel.Labels[1:]
		labels[c.Label] = true
	}
	for set, list := range map[*[]string]map[string]bool{&c.Owners: owners, &c.Targets: targets, &c.Names: labels} {
		delete(list, "")
		*set = slices.Sorted(maps.Keys(list))
	}
	return c
}

// exportLinks returns the addresses of exports of what a page's filter selects; none where the API is not served.
func (d *Dashboard) exportLinks(what string, pairs ...string) (links []actionLink) {
	if !d.Actions {
		return nil
	}
	for _, f := range operations.Formats {
		path := address("/v1/export/"+what, append([]string{"format", string(f)}, pairs...)...)
		links = append(links, actionLink{Label: strings.ToUpper(string(f)), Path: path})
	}
	return links
}
