package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to set back where schedules stand

	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/ledger"
)

const (
	settleFor = 15 * time.Second
	idleFor   = 20 * time.Second
)

// server is `cronce serve` in a process of its own.
type server struct {
	cmd   *exec.Cmd
	dir   string
	ready time.Duration // from its start
}

// startServer builds the program and starts it on a ledger.
func (m *measure) startServer(ctx context.Context, database string) (s *server, err error) {
	s = &server{}
	if s.dir, err = os.MkdirTemp("", "cronce-keyed-"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "cronce.yaml"), []byte(registry), 0o600); err != nil {
		return nil, err
	}
	program := filepath.Join(s.dir, "cronce")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/cronce/cronce/cmd/scheduler").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	_ = l.Close() // serve takes it
	if m.engine == rig.SQLite {
		database = "sqlite:" + database
	}
	s.cmd = exec.Command(program, "serve", "--db", database, "--listen", address, "--log-level", "error")
	s.cmd.Dir, s.cmd.Stderr, s.cmd.Env = s.dir, os.Stderr, append(os.Environ(), "SVC_URL="+m.bench.Target.URL)
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for time.Since(begun) < time.Minute {
		if resp, err := http.Get("http://" + address + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				s.ready = time.Since(begun)
				return s, nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errors.Join(errors.New("serve is not ready after a minute"), s.stop())
}

func (s *server) usage() (rig.Usage, error) { return rig.UsageOf(s.cmd.Process.Pid) }

func (s *server) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt)
	return errors.Join(s.cmd.Wait(), os.RemoveAll(s.dir))
}

// idle returns what serve takes on a ledger of which nothing but the job of the registry is
// due, and its CPU in a while.
func (m *measure) idle(ctx context.Context, database string) (u rig.Usage, cpu, ready time.Duration, err error) {
	s, err := m.startServer(ctx, database)
	if err != nil {
		return u, cpu, ready, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	time.Sleep(settleFor)
	before, err := s.usage()
	if err != nil {
		return u, cpu, ready, err
	}
	time.Sleep(idleFor)
	u, err = s.usage()
	return u, u.CPU - before.CPU, s.ready, err
}

// serve measures a process beside one with an empty ledger.
func (m *measure) serve(ctx context.Context) (string, error) {
	empty, err := fresh(ctx, m.bench, m.engine)
	if err != nil {
		return "", err
	}
	base, baseCPU, _, err := m.idle(ctx, empty)
	if err != nil {
		return "", err
	}
	u, cpu, ready, err := m.idle(ctx, m.database)
	return fmt.Sprintf("%d MB beside %d (peak %d, %d); CPU %.2f %% beside %.2f %%; ready after %s", u.Resident>>20, base.Resident>>20,
		u.Peak>>20, base.Peak>>20, percent(cpu), percent(baseCPU), ready.Round(time.Millisecond)), err
}

func percent(cpu time.Duration) float64 { return 100 * cpu.Seconds() / idleFor.Seconds() }

// setBack lets the schedules that wait be due in the last hour, as if nothing had run then.
func (m *measure) setBack(ctx context.Context) error {
	if m.engine == rig.SQLite {
		return m.exec(ctx, `UPDATE positions SET watermark = watermark - 7200000000, next_at = next_at - 86400000000
			WHERE next_at BETWEEN (unixepoch() + 72000) * 1000000 AND (unixepoch() + 90000) * 1000000`)
	}
	return errors.Join(m.exec(ctx, `UPDATE cronce.positions SET watermark = watermark - interval '2 hours', next_at = next_at - interval '1 day'
		WHERE next_at BETWEEN now() + interval '20 hours' AND now() + interval '25 hours'`), m.exec(ctx, `VACUUM ANALYZE cronce.positions`))
}

// exec runs a statement on the database itself.
func (m *measure) exec(ctx context.Context, text string) error {
	driver := "pgx"
	if m.engine == rig.SQLite {
		driver = "sqlite"
	}
	db, err := sql.Open(driver, m.database)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, text)
	return err
}

// catchUp measures a process that finds all schedules due.
func (m *measure) catchUp(ctx context.Context) (string, error) {
	if err := m.setBack(ctx); err != nil {
		return "", err
	}
	if _, err := m.bench.Target.Seen(time.Now()); err != nil {
		return "", err
	}
	begun := time.Now().UTC()
	s, err := m.startServer(ctx, m.database)
	if err != nil {
		return "", err
	}
	defer func() { _ = s.stop() }()
	started, err := s.usage()
	for called := 0; err == nil && called < m.waiting && time.Since(begun) < 7*time.Minute; called, err = m.bench.Target.Count() {
		time.Sleep(time.Second)
	}
	took := time.Since(begun)
	calls, err := m.bench.Target.Seen(begun)
	if err != nil {
		return "", err
	}
	u, err := s.usage()
	if err != nil {
		return "", err
	}
	ticks, err := m.List(ctx, ledger.Filter{JobID: "tick", Since: begun.Truncate(time.Second).Add(2 * time.Second), Limit: 1000})
	if err != nil {
		return "", err
	}
	var late []time.Duration
	for _, r := range ticks {
		if !r.StartedAt.IsZero() {
			late = append(late, r.StartedAt.Sub(r.ScheduledAt))
		}
	}
	return fmt.Sprintf("%d calls of %d schedules in %s, %d MB at the peak (%d when ready), %d runs of the job after %s",
		calls.Keys, m.waiting, took.Round(time.Second), u.Peak>>20, started.Resident>>20, len(late), rig.Lateness(late)), nil
}
