package postgres

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cronce/cronce/ledger"
)

// workColumns are what a workScanner reads of a leased run.
const workColumns = ` r.run_id, r.job_id, r.scheduled_at, r.trigger, r.attempt, r.failures, r.send_before, r.due_at, r.accepted_at, r.call, r.body `

// workScanner reads leased runs, one row after the other into the same places:
// a claim has hundreds of them.
type workScanner struct {
	places        []any
	work          ledger.Work
	before, until pgtype.Timestamptz
	accepted      pgtype.Timestamptz
	call          callScanner
	body          []byte
}

// newWorkScanner reads workColumns, and those after them into more.
func newWorkScanner(token string, more ...any) *workScanner {
	s := &workScanner{work: ledger.Work{Token: token}}
	w := &s.work
	s.places = append([]any{
		&w.RunID, &w.JobID, &w.ScheduledAt, &w.Trigger, &w.Attempt, &w.Failures, &s.before, &s.until, &s.accepted, &s.call, &s.body,
	}, more...)
	return s
}

func (s *workScanner) row(row pgx.CollectableRow) (ledger.Work, error) {
	if err := row.Scan(s.places...); err != nil {
		return ledger.Work{}, err
	}
	w := s.work
	w.SendBefore, w.LeasedUntil, w.AcceptedAt = s.before.Time, s.until.Time, s.accepted.Time
	w.Call = s.call.last
	w.Call.Body = s.body
	return w, nil
}

// callScanner decodes the column call. Runs of one job, and of jobs that are
// called alike, were frozen with the same bytes: those it decodes once.
type callScanner struct {
	known map[string]ledger.Call
	last  ledger.Call
}

// ScanBytes takes one value; it lasts no longer than the call.
func (s *callScanner) ScanBytes(b []byte) (err error) {
	last, ok := s.known[string(b)]
	if !ok {
		if last, err = decodeCall(b, nil); err != nil {
			return err
		}
		if s.known == nil {
			s.known = map[string]ledger.Call{}
		}
		s.known[string(b)] = last
	}
	s.last = last
	return nil
}

// workOf is the work of a run just leased.
func workOf(r ledger.Run, token string) ledger.Work {
	return ledger.Work{
		RunID: r.ID, JobID: r.JobID, ScheduledAt: r.ScheduledAt, Trigger: r.Trigger, Attempt: r.Attempt,
		Failures: r.Failures, SendBefore: r.SendBefore, LeasedUntil: r.LeasedUntil, AcceptedAt: r.AcceptedAt, Token: token, Call: r.Call,
	}
}
