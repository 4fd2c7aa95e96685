package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// span has the fields of a backfill's form as they were written. They are texts, so that the form shows again what was
// typed.
type span struct {
	Job, From, To, Parallel   string
	NewestFirst, NeverPlanned bool
}

// options returns the form's fields and the command's flags that say how the runs of the backfill run.
func (s *span) options() (fields []string, flags string) {
	if s.Parallel != "" {
		fields, flags = append(fields, "parallel", s.Parallel), flags+" --parallel "+shellQuote(s.Parallel)
	}
	if s.NewestFirst {
		fields, flags = append(fields, "newestFirst", "1"), flags+" --newest-first"
	}
	if s.NeverPlanned {
		fields, flags = append(fields, "neverPlanned", "1"), flags+" --never-planned"
	}
	return fields, flags
}

// previewBackfill asks for a span first: without a start, its page only has the fields.
func (d *Dashboard) previewBackfill(r *http.Request, v *actionView) error {
	if _, err := d.subjectJob(r, v); err != nil || v.Refused != "" {
		return err
	}
	q := r.URL.Query()
	v.Ask = &span{v.Subject, strings.TrimSpace(q.Get("from")), strings.TrimSpace(q.Get("to")), strings.TrimSpace(q.Get("parallel")),
		q.Get("newestFirst") != "", q.Get("neverPlanned") != ""}
	b := operations.Backfill{JobID: v.Subject, To: v.Now.Truncate(time.Second), NewestFirst: v.Ask.NewestFirst,
		NeverPlanned: v.Ask.NeverPlanned, Actor: nobody, DryRun: true}
	var err error
	if b.Parallel, err = parallelOf(v.Ask.Parallel); err != nil {
		return err
	}
	v.Lines = append([]string{"Its scheduled times that did not run (missed, skipped, superseded, canceled) are run."}, b.Notes()...)
	v.CLI = "cronce backfill " + shellQuote(v.Subject) + " --from 24h --dry-run"
	if v.Ask.From == "" {
		return nil
	}
	if b.From, err = parseTime(v.Ask.From, v.Now.Time); err != nil {
		return err
	}
	if v.Ask.To != "" {
		if b.To, err = parseTime(v.Ask.To, v.Now.Time); err != nil {
			return err
		}
	}
	// The form gets the times that were counted, so that "24h" means the same when it is sent.
	from, to := b.From.Format(time.RFC3339), b.To.Format(time.RFC3339)
	fields, flags := v.Ask.options()
	v.hide(append(fields, "from", from, "to", to)...)
	v.CLI = "cronce backfill " + shellQuote(v.Subject) + " --from " + from + " --to " + to + flags + why
	done, err := d.Operations.Backfill(r.Context(), b)
	if err != nil {
		return v.refuse(err)
	}
	v.Counts = []actionCount{{"will run", done.Planned}, {"ran, or are about to", done.Unchanged}, {"cannot be run", done.Refused}}
	if done.Planned > 0 {
		v.Lines = append(v.Lines, done.Takes.String())
	}
	v.Button = "Run " + counted(done.Planned, "scheduled time")
	if done.Planned == 0 {
		v.Refused = "Nothing to run between these times."
	}
	return nil
}

// parallelOf reads the number of runs that a backfill runs at a time; 0 if the field is empty.
func parallelOf(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > ledger.MaxParallel {
		return 0, invalid(fmt.Sprintf("At a time must be from 1 to %d, or empty.", ledger.MaxParallel), "Change it and preview again.")
	}
	return n, nil
}
