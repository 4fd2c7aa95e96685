package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// auditOnPage is the number of entries that the page shows. One more is read: it tells whether there are older ones.
const auditOnPage = 50

// auditView is the page /audit: who did what, newest first.
type auditView struct {
	Filter    auditFilter
	Choices   choices
	Audit     []ledger.Audit
	More      string
	Any       bool
	Unknown   string // why no action can match
	CLI       string
	Exports   []actionLink
	Incidents []actionLink // their export
	Now       clock
}

// auditFilter is a filter as it was written in the address.
type auditFilter struct {
	operations.Selection
	Run, By, Since, Until string
}

// parse reads the filter of an address.
func (f *auditFilter) parse(q url.Values, now time.Time) (out ledger.AuditFilter, err error) {
	f.Selection = selectionOf(q)
	f.Run, f.By, f.Since, f.Until = strings.TrimSpace(q.Get("run")), strings.TrimSpace(q.Get("by")), strings.TrimSpace(q.Get("since")),
		strings.TrimSpace(q.Get("until"))
	out = ledger.AuditFilter{RunID: f.Run, By: f.By, Limit: auditOnPage + 1}
	if out.Since, out.Until, err = parseSpan(f.Since, f.Until, now); err != nil {
		return out, err
	}
	if before := q.Get("before"); before != "" {
		if out.Before, err = strconv.ParseInt(before, 10, 64); err != nil || out.Before < 1 {
			return out, invalid("\""+before+"\" is not the number of an action.", "Follow the link \"Older\", or start with the newest.")
		}
	}
	return out, nil
}

// audit is the page /audit: what operators did, newest first.
func (d *Dashboard) audit(r *http.Request) (view, error) {
	q, ctx := r.URL.Query(), r.Context()
	v := auditView{Now: d.clockOf(r)}
	f, err := v.Filter.parse(q, v.Now.Time)
	if err != nil {
		return view{}, err
	}
	w := v.Filter
	v.Any, v.Choices = !w.IsZero() || w.Run+w.By+w.Since+w.Until != "", d.choices(w.Selection)
	pairs := append(selectionPairs(w.Selection), "run", w.Run, "by", w.By, "since", operations.TimeText(f.Since), "until", operations.TimeText(f.Until))
	v.Exports, v.Incidents = d.exportLinks("audit", pairs...), d.exportLinks("incidents", selectionPairs(w.Selection)...)
	v.CLI = commandOf("cronce audit export", append(selectionFlags(w.Selection), [2]string{"--run", w.Run}, [2]string{"--by", w.By},
		[2]string{"--since", w.Since}, [2]string{"--until", w.Until}))
	// The ledger has no owners, labels and targets: Narrow turns them into job IDs, of any filter.
	runs := ledger.Filter{}
	err = d.Operations.Narrow(ctx, w.Selection, &runs)
	f.JobID, f.JobIDs, f.WithSchedules = runs.JobID, runs.JobIDs, runs.WithSchedules
	if err == nil {
		v.Audit, err = d.Ledger.Audit(ctx, f)
	}
	if refused, is := operationsError(err); is {
		v.Unknown, v.CLI, v.Exports, err = sentenceOf(refused.Message), "", nil, nil
	}
	if err != nil {
		return view{}, err
	}
	if len(v.Audit) > auditOnPage {
		v.Audit = v.Audit[:auditOnPage]
		next := q
		next.Set("before", strconv.FormatInt(v.Audit[len(v.Audit)-1].ID, 10))
		v.More = "/audit?" + next.Encode()
	}
	return view{Template: "audit", Title: "Audit", Section: "Audit", Data: v}, nil
}
