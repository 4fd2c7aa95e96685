package operations

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Format names the format of an export.
type Format string

// The formats of an export.
const (
	CSV    Format = "csv"    // RFC 4180, with a header
	NDJSON Format = "ndjson" // a JSON object on each line
)

// Formats are all formats.
var Formats = []Format{CSV, NDJSON}

// Export asks for the records that the filter of its kind selects, newest first. The
// limits of the filters do not count.
type Export struct {
	What   string // runs, members, incidents or audit
	Format Format
	Selection
	Runs      ledger.Filter
	Members   MemberQuery // the Selection does not apply to them, and failed ones come first
	Incidents ledger.IncidentFilter
	Audit     ledger.AuditFilter
}

// Exports are all values of Export.What.
var Exports = []string{"runs", "members", "incidents", "audit"}

// RunRecord is a run in an export, with the error of its last attempt, and the owner that
// its job has now.
type RunRecord struct {
	Run
	Owner     string `json:"owner,omitempty"`
	Target    string `json:"target,omitempty"`
	Error     string `json:"error,omitempty"`
	ErrorCode string `json:"errorCode,omitempty"`
}

// IncidentRecord is an incident in an export.
type IncidentRecord struct {
	Incident
	Owner  string `json:"owner,omitempty"`
	Target string `json:"target,omitempty"`
}

// AuditRecord is an operator's action in an export.
type AuditRecord struct {
	AuditEntry
	Owner string `json:"owner,omitempty"`
}

// Export writes records as it reads them, a page at a time: nothing is kept, so that a
// ledger of any size can be exported. Nothing is written if it is refused.
func (s *Service) Export(ctx context.Context, e Export, w io.Writer) error {
	read := map[string]func(context.Context, *Export) ([]any, bool, error){"runs": s.exportRuns, "members": s.exportMembers,
		"incidents": s.exportIncidents, "audit": s.exportAudit}[e.What]
	write := map[Format]func(io.Writer, []any) error{CSV: writeCSV, NDJSON: writeNDJSON}[e.Format]
	if read == nil || write == nil {
		return refuse(Invalid, "unknown export %q as %q; valid exports: %s; valid formats: csv, ndjson", e.What, e.Format,
			strings.Join(Exports, ", "))
	}
	runs := ledger.Filter{}
	if err := s.Narrow(ctx, e.Selection, &runs); err != nil {
		return err
	}
	if err := s.KnownJob(ctx, runs.JobID); err != nil {
		return err
	}
	e.Runs.JobID, e.Incidents.JobID, e.Audit.JobID = runs.JobID, runs.JobID, runs.JobID
	e.Runs.JobIDs, e.Incidents.JobIDs, e.Audit.JobIDs = runs.JobIDs, runs.JobIDs, runs.JobIDs
	e.Runs.WithSchedules, e.Incidents.WithSchedules, e.Audit.WithSchedules = runs.WithSchedules, runs.WithSchedules, runs.WithSchedules
	var err error
	if e.Audit.RunID, err = s.FindRun(ctx, e.Audit.RunID); err != nil {
		return err
	}
	e.Runs.Limit, e.Members.Limit, e.Incidents.Limit, e.Audit.Limit = MaxPage, MaxPage, MaxPage, MaxPage
	for first, more := true, true; more; first = false {
		page, next, err := s.exportPage(ctx, read, &e)
		if err != nil {
			return err
		}
		if first && e.Format == CSV { // after the first page was read: an error is still an answer of its own
			if err := writeHeader(w, e.What); err != nil {
				return err
			}
		}
		if err := write(w, page); err != nil {
			return err
		}
		more = next
	}
	return nil
}

// exportPageWithin bounds what one page of an export may ask of the ledger. The whole export has no
// bound: it takes as long as its reader does.
const exportPageWithin = 30 * time.Second

// exportPage reads the next page of records and moves the filter in e behind it. The functions read, one for each value
// of Export.What, do so in their own way.
func (s *Service) exportPage(ctx context.Context, read func(context.Context, *Export) ([]any, bool, error), e *Export) ([]any, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, exportPageWithin)
	defer cancel()
	return read(ctx, e)
}

// exportRuns reads a page of runs, with the last error of each that has not succeeded; see exportPage.
func (s *Service) exportRuns(ctx context.Context, e *Export) (page []any, more bool, err error) {
	runs, err := s.ledger.List(ctx, e.Runs)
	if err != nil || len(runs) == 0 {
		return nil, false, err
	}
	var failed []string
	for _, r := range runs {
		if r.Attempt > 0 && r.State != ledger.Succeeded {
			failed = append(failed, r.ID)
		}
	}
	attempts, err := s.ledger.LastAttempts(ctx, failed)
	for _, r := range runs {
		last := attempts[r.ID]
		owner, _ := s.ownerAndTarget(r.JobID)
		page = append(page, RunRecord{RunOf(ctx, r), owner, r.Call.Target, last.Error, last.Code})
	}
	last := runs[len(runs)-1]
	e.Runs.Before = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	return page, len(runs) == e.Runs.Limit, err
}

// exportIncidents reads a page of incidents; see exportPage.
func (s *Service) exportIncidents(ctx context.Context, e *Export) (page []any, more bool, err error) {
	list, err := s.ledger.Incidents(ctx, e.Incidents)
	for _, i := range list {
		owner, target := s.ownerAndTarget(i.JobID)
		page = append(page, IncidentRecord{incidentOf(i), owner, target})
		e.Incidents.Before = i.ID
	}
	return page, len(list) == e.Incidents.Limit, err
}

// exportAudit reads a page of the audit; see exportPage.
func (s *Service) exportAudit(ctx context.Context, e *Export) (page []any, more bool, err error) {
	list, err := s.ledger.Audit(ctx, e.Audit)
	for _, a := range list {
		owner, _ := s.ownerAndTarget(a.JobID)
		page = append(page, AuditRecord{auditEntryOf(a), owner})
		e.Audit.Before = a.ID
	}
	return page, len(list) == e.Audit.Limit, err
}

// ownerAndTarget returns a job's owner and target in the registry that is served now.
func (s *Service) ownerAndTarget(jobID string) (owner, target string) {
	reg, err := s.registry()
	if err != nil {
		return "", ""
	}
	template, _, keyed := jobs.SplitJobID(jobID)
	if t, known := reg.Template(template); keyed && known {
		return t.Owner, t.Target
	}
	j, _ := reg.Job(jobID)
	return j.Owner, j.Target
}

func writeNDJSON(w io.Writer, records []any) error {
	for _, r := range records {
		line, err := Encode(r)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// columnsOf returns the names and the values of a record's fields, those of embedded structs in their place. CSV thus
// has the columns that JSON has fields, without a second list.
func columnsOf(v reflect.Value) (names, values []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			innerNames, innerValues := columnsOf(v.Field(i))
			names, values = append(names, innerNames...), append(values, innerValues...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names, values = append(names, name), append(values, cell(fmt.Sprint(v.Field(i).Interface())))
	}
	return names, values
}

// cell returns a value on one line. A text that begins like a formula gets an apostrophe, as a spreadsheet would
// calculate it: targets and callers write some of these texts.
func cell(text string) string {
	text = plaintext.Line(text)
	if strings.IndexAny(text, "=+-@＝＋－＠") == 0 { // some take the wide forms too
		return "'" + text
	}
	return text
}

func writeHeader(w io.Writer, what string) error {
	record := map[string]any{"runs": RunRecord{}, "members": Member{}, "incidents": IncidentRecord{}, "audit": AuditRecord{}}[what]
	names, _ := columnsOf(reflect.ValueOf(record))
	return writeRows(w, [][]string{names})
}

func writeCSV(w io.Writer, records []any) error {
	rows := make([][]string, len(records))
	for i, r := range records {
		_, rows[i] = columnsOf(reflect.ValueOf(r))
	}
	return writeRows(w, rows)
}

func writeRows(w io.Writer, rows [][]string) error {
	c := csv.NewWriter(w)
	c.UseCRLF = true // RFC 4180, section 2
	return c.WriteAll(rows)
}
