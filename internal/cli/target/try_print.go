package target

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets/try"
)

// tryLimits is printed below every verdict.
const tryLimits = `try sees answers only: not whether effect and key are committed together, once,
and before the answer. "cronce conform" tests that. The rules, and the kits that
follow them: https://github.com/cronce/cronce/blob/main/docs/any-language.md`

func (a *app) printTry(r try.Report) error {
	if err := a.showTry(r); err != nil {
		return err
	}
	return failedUnless(r.Outcome)
}

// failedUnless returns an error with exit code 1, unless no fault was found.
func failedUnless(o try.Outcome) error {
	if o != try.NoFaultFound {
		return command.ExitWith(command.ExitFailed)
	}
	return nil
}

// showTry prints the calls, the checks, the rules that were broken, and the verdict with its limits.
func (a *app) showTry(r try.Report) error {
	if a.Encoded() {
		return a.Encode(r)
	}
	t := a.Table("CALL", "STATUS", "ANSWER", "TOOK", "FIELDS").Optional("FIELDS", "TOOK")
	for _, c := range r.Calls {
		status := strconv.Itoa(c.Status)
		if c.Status == 0 {
			status = c.Error
		}
		t.Row(c.Call, status, string(c.Answer), c.Took, headerText(c.Headers))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "key: %s\n\n", r.Key)
	t = a.Table("CHECK", "ANSWER", "NEEDED", "DETAIL")
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
	for _, c := range r.Checks {
		if c.Required && c.Answer == try.No && c.Rule != "" {
			fmt.Fprintf(a.Out, "\n%s: %s", c.Check, c.Rule)
		}
	}
	_, err := fmt.Fprintf(a.Out, "\n%s %s %s:\n%s\n%s\n", r.Method, r.Target, r.Path, r.Summary, tryLimits)
	return err
}

// headerText writes the fields of an answer that tell how the target treats keys.
func headerText(h map[string][]string) string {
	var parts []string
	for _, name := range []string{"Idempotent-Replayed", "Idempotency-Key-Expires", "Idempotency-Body", "Retry-After",
		"Content-Type", "Location"} {
		for _, v := range h[name] {
			parts = append(parts, name+": "+v)
		}
	}
	return strings.Join(parts, "; ")
}

func (a *app) printTryTimes(j jobs.Job, r try.TimesReport) error {
	if a.Encoded() {
		if err := a.Encode(r); err != nil {
			return err
		}
		return failedUnless(r.Outcome)
	}
	zone := j.ParsedSchedule().Location()
	t := a.Table("SCHEDULED", "LOCAL", "CLOCKS", "STATUS", "ANSWER", "AGAIN", "DETAIL").Optional("CLOCKS", "LOCAL")
	before := time.Time{}
	for _, x := range r.Times {
		local, clocks := x.ScheduledAt.In(zone), ""
		if !before.IsZero() {
			clocks = command.Shift(before, local)
		}
		t.Row(operations.TimeText(x.ScheduledAt), local.Format("Mon 2006-01-02 15:04:05 MST"), clocks, strconv.Itoa(x.Status), x.Answer,
			x.Again, x.Detail)
		before = local
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.Out, "\n%s %s %s:\n%s\n", j.Method, j.Target, j.Path, r.Summary); err != nil {
		return err
	}
	return failedUnless(r.Outcome)
}
