package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/targets/probe"
)

// probeLimits is printed below every verdict.
const probeLimits = `A probe sees answers only: not whether effect and key are committed together,
once, and before the answer. "cronce conform" tests that.`

func (a *app) printProbe(r probe.Report) error {
	if err := a.showProbe(r); err != nil {
		return err
	}
	if r.Outcome != probe.NoFaultFound {
		return &exit{code: exitFailed}
	}
	return nil
}

func (a *app) showProbe(r probe.Report) error {
	if a.encoded() {
		return a.encode(r)
	}
	keys := []string{""}
	t := a.table("CALL", "KEY", "STATUS", "ANSWER", "TOOK", "FIELDS").Optional("KEY", "FIELDS", "TOOK")
	for _, c := range r.Calls {
		i := slices.Index(keys, c.Key)
		if i < 0 {
			i, keys = len(keys), append(keys, c.Key)
		}
		number := ""
		if i > 0 {
			number = strconv.Itoa(i)
		}
		t.Row(c.Call, number, strconv.Itoa(c.Status), string(c.Answer), c.Took, headerText(c.Headers))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, key := range keys[1:] {
		fmt.Fprintf(a.out, "key %d: %s\n", i+1, key)
	}
	fmt.Fprintln(a.out)
	t = a.table("CHECK", "ANSWER", "NEEDED", "DETAIL")
	for _, c := range r.Checks {
		needed := "yes"
		if !c.Required {
			needed = "no"
		}
		t.Row(c.Check, string(c.Answer), needed, c.Detail)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "\n%s %s %s:\n%s\n%s\n", r.Method, r.Target, r.Path, r.Summary, probeLimits)
	return err
}

func headerText(h map[string][]string) string {
	var parts []string
	for _, name := range []string{"Idempotent-Replayed", "Idempotency-Key-Expires", "Idempotency-Body", "Retry-After", "Content-Type", "Location"} {
		for _, v := range h[name] {
			parts = append(parts, name+": "+v)
		}
	}
	return strings.Join(parts, "; ")
}
