package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What becomes of a job.
const (
	same    = "same"
	changed = "changed"
	added   = "added"
	removed = "removed"
)

type diffJSON struct {
	Changed bool   `json:"changed"`
	Against string `json:"against"`
	// Registry is set where the files' names differ.
	Registry *fieldDiff `json:"registry,omitempty"`
	Jobs     []jobDiff  `json:"jobs"`
}

type jobDiff struct {
	ID      string      `json:"id"`
	Change  string      `json:"change"`
	Paused  bool        `json:"paused"`
	Fields  []fieldDiff `json:"fields"`
	OldNext []string    `json:"oldNext"`
	NewNext []string    `json:"newNext"`
}

// fieldDiff is a field of the registry file; empty where a side has none.
type fieldDiff struct {
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// fields are a job's fields in words, in the order of the registry file.
type fields []struct{ name, value string }

func fieldsOf(j planned) fields {
	body, limit := "default", "none"
	if j.body != nil {
		body = string(j.body)
	}
	if j.MaxInFlight > 0 {
		limit = strconv.Itoa(j.MaxInFlight)
	}
	return fields{
		{"schedule", j.Schedule}, {"timezone", j.Timezone}, {"dst", string(j.DST)}, {"time zone data", j.zones},
		{"target", j.Target}, {"method", j.Method}, {"path", j.Path}, {"scopes", strings.Join(j.Scopes, " ")},
		{"body", body}, {"timeout", j.Timeout.String()}, {"retry.backoff", waits(j.Retry.Backoff)},
		{"retry.jitter", strconv.FormatFloat(j.Retry.Jitter, 'g', -1, 64)},
		{"retry.maxRetryAfter", j.Retry.MaxRetryAfter.String()}, {"retry.horizon", j.Retry.Horizon.String()},
		{"overlap", string(j.Overlap)}, {"catchUp", string(j.CatchUp)}, {"catchUpWindow", j.CatchUpWindow.String()},
		{"keyScope", j.KeyScope}, {"maxInFlight", limit},
	}
}

func waits(backoff []time.Duration) string {
	if len(backoff) == 0 {
		return "none"
	}
	words := make([]string, len(backoff))
	for i, d := range backoff {
		words[i] = d.String()
	}
	return strings.Join(words, ", ")
}

// against lists the fields that differ; nil stands for a job that is not there.
func (f fields) against(old fields) []fieldDiff {
	diffs := []fieldDiff{}
	for i := range max(len(f), len(old)) {
		var d fieldDiff
		if old != nil {
			d.Field, d.Old = old[i].name, old[i].value
		}
		if f != nil {
			d.Field, d.New = f[i].name, f[i].value
		}
		if d.Old != d.New {
			diffs = append(diffs, d)
		}
	}
	return diffs
}

func texts(instants []time.Time) []string {
	out := make([]string, len(instants))
	for i, t := range instants {
		out[i] = instant(t)
	}
	return out
}

func (a *app) printDiff(d diffJSON) error {
	if a.json {
		return printJSON(a.out, d)
	}
	if d.Registry != nil {
		fmt.Fprintf(a.out, "the registry's name: %s -> %s; another name is another caller at every target, and needs a ledger of its own\n\n", d.Registry.Old, d.Registry.New)
	}
	counts := map[string]int{}
	for _, j := range d.Jobs {
		counts[j.Change]++
		if j.Change == same {
			continue
		}
		if err := a.printJobDiff(j); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.out, "against %s: %d changed, %d added, %d removed, %d same\n",
		d.Against, counts[changed], counts[added], counts[removed], counts[same])
	return err
}

// introducing are the fields that say what a job is that comes or goes; --json
// has them all.
var introducing = []string{"schedule", "timezone", "target", "method", "path", "scopes"}

func (a *app) printJobDiff(j jobDiff) error {
	fmt.Fprintf(a.out, "%s: %s%s\n", j.ID, j.Change, pauseNote(j))
	t := a.table("  FIELD", "OLD", "NEW").folding("OLD")
	for _, f := range j.Fields {
		if j.Change != changed && !slices.Contains(introducing, f.Field) {
			continue
		}
		t.row("  "+f.Field, f.Old, f.New)
	}
	// Instants of a job whose schedule stays are the same on both sides.
	if !slices.Equal(j.OldNext, j.NewNext) {
		for i := range max(len(j.OldNext), len(j.NewNext), 1) {
			t.row("  next", at(j.OldNext, i), at(j.NewNext, i))
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.out)
	return err
}

func pauseNote(j jobDiff) string {
	if j.Paused && j.Change != removed {
		return " (paused, and stays so)"
	}
	return ""
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}
