package api

import (
	"context"
	"net/http"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// exports are the filters of each export, as the list of the same name has them.
var exports = map[string]struct {
	allowed []string
	read    func(*params, *operations.Export)
}{
	"runs": {[]string{"state", "reason", "since", "until", "unacknowledged"},
		func(q *params, e *operations.Export) { e.Runs = q.runs() }},
	"members":   {[]string{"run", "state", "key"}, func(q *params, e *operations.Export) { e.Members = q.members(q.text("run")) }},
	"incidents": {[]string{"open"}, func(q *params, e *operations.Export) { e.Incidents.Open = q.flag("open") }},
	"audit":     {[]string{"run", "by", "since", "until"}, func(q *params, e *operations.Export) { e.Audit = q.audit() }},
}

// export streams all that a filter selects.
func (s *server) export(what string) {
	export := exports[what]
	allowed := append([]string{"format"}, export.allowed...)
	if what != "members" {
		allowed = append(allowed, "job", "owner", "label", "target")
	}
	s.handle("GET /v1/export/"+what, func(w http.ResponseWriter, r *http.Request) {
		out := &stream{w: w, what: what}
		err := permit(r, access.Viewer)
		var end func()
		if err == nil {
			end, err = s.gate.exports.enter(access.FromContext(r.Context()).Principal())
		}
		if err == nil {
			defer end()
			err = s.exportTo(r.Context(), out, query(r, allowed...), export.read)
		}
		switch {
		case err == nil:
			out.begin() // of nothing, too
		case !out.begun:
			s.fail(w, r, err)
		default: // the client sees that the answer is cut short
			s.log.Error("export failed", "path", r.URL.Path, "error", err)
			panic(http.ErrAbortHandler)
		}
	})
}

func (s *server) exportTo(ctx context.Context, out *stream, q *params, read func(*params, *operations.Export)) error {
	e := operations.Export{What: out.what, Format: operations.CSV, Selection: q.selection()}
	if formats := oneOf(q, "format", operations.Formats); len(formats) > 0 {
		e.Format = formats[0]
	}
	read(q, &e)
	if q.err != nil {
		return q.err
	}
	out.format = e.Format
	return s.ops.Export(ctx, e, out)
}

// stream is the answer to a request for an export. It begins with the first record.
type stream struct {
	w      http.ResponseWriter
	what   string
	format operations.Format
	begun  bool
}

// writeWithin limits the time in which a client reads a part.
const writeWithin = 2 * time.Minute

func (s *stream) Write(part []byte) (int, error) {
	s.begin()
	_ = http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(writeWithin)) // a writer without one is a test's
	return s.w.Write(part)
}

func (s *stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	media := "text/csv; charset=utf-8; header=present"
	if s.format == operations.NDJSON {
		media = "application/x-ndjson"
	}
	s.w.Header().Set("Content-Type", media)
	s.w.Header().Set("Content-Disposition", `attachment; filename="`+s.what+"."+string(s.format)+`"`)
}

// runs reads a filter of runs.
func (p *params) runs() ledger.Filter {
	f := ledger.Filter{States: oneOf(p, "state", ledger.States), Since: p.time("since"), Until: p.time("until"),
		Unacknowledged: p.flag("unacknowledged")}
	if reasons := oneOf(p, "reason", ledger.Reasons); len(reasons) > 0 {
		f.Reason = reasons[0]
	}
	return f
}

// members reads a filter of the members of a run.
func (p *params) members(run string) operations.MemberQuery {
	if run == "" {
		p.fail("the query parameter run is required: run=JOB@TIME")
	}
	return operations.MemberQuery{Parent: run, States: oneOf(p, "state", operations.MemberFilterStates), Key: p.text("key")}
}

// audit reads a filter of the audit.
func (p *params) audit() ledger.AuditFilter {
	return ledger.AuditFilter{RunID: p.text("run"), By: p.text("by"), Since: p.time("since"), Until: p.time("until")}
}
