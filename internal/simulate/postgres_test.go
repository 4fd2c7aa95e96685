package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

// onPostgres returns an opener of ledgers in schemas of their own. Their clock is a now()
// that is found before the server's.
func onPostgres(t *testing.T) opener {
	url := testdb.Postgres(t)
	return func(ctx context.Context, now func() time.Time) (ledger.Store, error) {
		schema := fmt.Sprintf("life_%d", lifeNumber.Add(1))
		script, err := migrations.Print(migrations.Target{Engine: migrations.Postgres, Schema: schema})
		if err != nil {
			return nil, err
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return nil, err
		}
		script = strings.ReplaceAll(script, "INDEX CONCURRENTLY", "INDEX") // which no transaction takes
		c := &clocked{now: now, conn: conn, set: "UPDATE " + schema + "_clock.clock SET at = $1"}
		if _, err = conn.Exec(ctx, script+fmt.Sprintf(`
			CREATE SCHEMA %[1]s_clock;
			CREATE UNLOGGED TABLE %[1]s_clock.clock AS SELECT timestamptz '2000-01-01' AS at;
			CREATE FUNCTION %[1]s_clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM %[1]s_clock.clock'`, schema),
			pgx.QueryExecModeSimpleProtocol); err != nil {
			return nil, err
		}
		if err := c.tell(); err != nil {
			return nil, err
		}
		c.Store, err = postgres.Open(ctx, url, postgres.Schema(schema+"_clock, "+schema+", pg_catalog"))
		return c, err
	}
}

// clocked tells the database the time of the bubble before each request that depends on
// it. It does not pass while one is answered.
type clocked struct {
	ledger.Store
	now  func() time.Time
	set  string
	mu   sync.Mutex
	conn *pgx.Conn
}

func (c *clocked) tell() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.conn.Exec(context.Background(), c.set, c.now())
	return err
}

// at makes a request after the time was told.
func at[T any](c *clocked, request func() (T, error)) (T, error) {
	if err := c.tell(); err != nil {
		var none T
		return none, err
	}
	return request()
}

func (c *clocked) Declare(ctx context.Context, d ledger.Declaration) error {
	return errors.Join(c.tell(), c.Store.Declare(ctx, d))
}

func (c *clocked) Heartbeat(ctx context.Context, process string) (ledger.HeartbeatReply, error) {
	return at(c, func() (ledger.HeartbeatReply, error) { return c.Store.Heartbeat(ctx, process) })
}

func (c *clocked) Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
	return at(c, func() ([]ledger.JobAssignment, error) { return c.Store.Assignments(ctx, version, after) })
}

func (c *clocked) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	return at(c, func() (ledger.Admitted, error) { return c.Store.Admit(ctx, a) })
}

func (c *clocked) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	return at(c, func() (ledger.Entered, error) { return c.Store.Enter(ctx, e) })
}

func (c *clocked) Claim(ctx context.Context, q ledger.ClaimRequest) (ledger.Claimed, error) {
	return at(c, func() (ledger.Claimed, error) { return c.Store.Claim(ctx, q) })
}

func (c *clocked) Extend(ctx context.Context, l []ledger.Lease, d time.Duration) ([]ledger.Lease, error) {
	return at(c, func() ([]ledger.Lease, error) { return c.Store.Extend(ctx, l, d) })
}

func (c *clocked) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	return at(c, func() ([]ledger.RecordResult, error) { return c.Store.Record(ctx, o) })
}

func (c *clocked) PauseJob(ctx context.Context, id string, who ledger.Actor) error {
	return errors.Join(c.tell(), c.Store.PauseJob(ctx, id, who))
}

func (c *clocked) ResumeJob(ctx context.Context, id string, who ledger.Actor) error {
	return errors.Join(c.tell(), c.Store.ResumeJob(ctx, id, who))
}

func (c *clocked) ChangePause(ctx context.Context, p ledger.PauseChange) (ledger.Pause, error) {
	return at(c, func() (ledger.Pause, error) { return c.Store.ChangePause(ctx, p) })
}

func (c *clocked) Cancel(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	return at(c, func() (ledger.ActionResult, error) { return c.Store.Cancel(ctx, a) })
}

func (c *clocked) Redrive(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	return at(c, func() (ledger.ActionResult, error) { return c.Store.Redrive(ctx, a) })
}

func (c *clocked) Ack(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	return at(c, func() (ledger.ActionResult, error) { return c.Store.Ack(ctx, a) })
}

func (c *clocked) Backfill(ctx context.Context, b ledger.BackfillRequest) (ledger.Backfilled, error) {
	return at(c, func() (ledger.Backfilled, error) { return c.Store.Backfill(ctx, b) })
}

func (c *clocked) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	return at(c, func() ([]ledger.Incident, error) { return c.Store.Incidents(ctx, f) })
}

func (c *clocked) AckIncident(ctx context.Context, a ledger.IncidentAction) (ledger.Incident, error) {
	return at(c, func() (ledger.Incident, error) { return c.Store.AckIncident(ctx, a) })
}

func (c *clocked) ReconcileIncidents(ctx context.Context, cause ledger.IncidentCause, p []ledger.JobProblem) error {
	return errors.Join(c.tell(), c.Store.ReconcileIncidents(ctx, cause, p))
}

func (c *clocked) ClosePauses(ctx context.Context) (int, error) {
	return at(c, func() (int, error) { return c.Store.ClosePauses(ctx) })
}

func (c *clocked) MarkLate(ctx context.Context, limit int) (int, error) {
	return at(c, func() (int, error) { return c.Store.MarkLate(ctx, limit) })
}

func (c *clocked) Notify(ctx context.Context, n ledger.Notification) (bool, error) {
	return at(c, func() (bool, error) { return c.Store.Notify(ctx, n) })
}

func (c *clocked) PurgeRuns(ctx context.Context, p ledger.Purge) (ledger.Purged, error) {
	return at(c, func() (ledger.Purged, error) { return c.Store.PurgeRuns(ctx, p) })
}

func (c *clocked) Close() error {
	return errors.Join(c.Store.Close(), c.conn.Close(context.Background()))
}
