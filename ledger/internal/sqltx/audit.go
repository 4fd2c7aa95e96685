package sqltx

import (
	"github.com/cronce/cronce/ledger"
)

func (t Tx) Audits(f ledger.AuditFilter) ledger.Future[[]ledger.Audit] {
	text, args := t.Dialect.Audit(f)
	return list(t, func(v Values) (a ledger.Audit, err error) {
		a.ID, a.At, a.Action, a.JobID, a.RunID = v.Int(), v.Time(), ledger.ActionKind(v.Text()), v.Text(), v.Text()
		a.RerunID, a.By, a.Why, a.Via, a.Count, a.Series = v.Text(), v.Text(), v.Text(), ledger.Via(v.Text()), int(v.Int()), v.Text()
		a.About = v.Text()
		return a, nil
	}, Query{Text: text, Args: args, Varies: true})
}

func (t Tx) FindRequest(principal, key string) ledger.Future[[]ledger.KeptRequest] {
	return List(t, func(v Values) (ledger.KeptRequest, error) {
		return ledger.KeptRequest{Principal: v.Text(), Key: v.Text(), Fingerprint: v.Text(), Answer: v.Bytes()}, nil
	}, `SELECT principal, request_key, fingerprint, answer FROM audit WHERE principal = $1 AND request_key = $2`, principal, key)
}

func (t Tx) SeriesEnd(by, series string) ledger.Future[[]ledger.Cursor] {
	return List(t, func(v Values) (ledger.Cursor, error) {
		return ledger.Cursor{ScheduledAt: v.Time(), ID: v.Text()}, nil
	}, `
		SELECT r.scheduled_at, r.run_id FROM audit a JOIN runs r ON r.run_id = a.run_id
		WHERE a.series = $1 AND a.series <> '' AND a.by = $2 ORDER BY a.id DESC LIMIT 1`, series, by)
}

func (t Tx) Redriven(runIDs []string, by, series string) ledger.Future[[]string] {
	return List(t, Text, `SELECT DISTINCT run_id FROM audit
		WHERE run_id `+t.Dialect.In("$1")+` AND run_id <> '' AND act = $2 AND by = $3 AND series = $4`, runIDs, string(ledger.ActionRedrive), by, series)
}
