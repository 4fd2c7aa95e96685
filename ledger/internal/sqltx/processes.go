package sqltx

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// BindRegistry writes first: the second statement also finds what another process committed
// meanwhile.
func (t Tx) BindRegistry(name string) ledger.Future[string] {
	if err := t.Engine.Exec(`INSERT INTO registry (name) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM registry) ON CONFLICT DO NOTHING`,
		name); err != nil {
		return ledger.ResolvedFuture("", err)
	}
	return One(t, Text, `SELECT name FROM registry`)
}

func (t Tx) Processes() ledger.Future[[]ledger.ProcessRow] {
	return List(t, func(v Values) (ledger.ProcessRow, error) {
		return ledger.ProcessRow{ID: v.Text(), Version: v.Text(), HeartbeatAt: v.Time(), Host: v.Text(), Program: v.Text()}, nil
	}, `SELECT process, version, `+t.Dialect.HeartbeatAt+`, host, program FROM processes ORDER BY process`)
}

func (t Tx) PutProcess(p ledger.ProcessRow) error {
	at := t.Dialect.HeartbeatAt
	return t.Engine.Exec(`
		INSERT INTO processes (process, version, `+at+`, host, program) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (process) DO UPDATE SET version = excluded.version, `+at+` = excluded.`+at+`, host = excluded.host, program = excluded.program`,
		p.ID, p.Version, p.HeartbeatAt, p.Host, p.Program)
}

func (t Tx) SetHeartbeats(ids []string, at time.Time) error {
	return t.Engine.Exec(`UPDATE processes SET `+t.Dialect.HeartbeatAt+` = $2 WHERE process `+t.Dialect.In("$1"), ids, at)
}

func (t Tx) DeleteProcess(id string) error {
	return t.Engine.Exec(`DELETE FROM processes WHERE process = $1`, id)
}

func (t Tx) CountRunning() ledger.Future[map[string]int] {
	return Counts(t, `SELECT leased_by, count(*) FROM runs WHERE `+t.Dialect.Leasable+` AND state = $1 GROUP BY leased_by`,
		string(ledger.Running))
}

func (t Tx) LastLease() ledger.Future[time.Time] {
	return One(t, Moment, `SELECT max(leased_at) FROM runs WHERE `+t.Dialect.Leasable)
}
