package rig

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// serverEnv names the PostgreSQL server; `make bench-peers` sets it.
const serverEnv = "TEST_POSTGRES_URL"

// Databases gives each round a database of its own.
type Databases struct {
	admin *pgx.Conn
	url   string
	dir   string
	n     int
	// postmaster is the server's first process; 0: not of this machine.
	postmaster int
}

// OpenDatabases connects to the server that the environment names.
func OpenDatabases(ctx context.Context) (*Databases, error) {
	d := &Databases{url: os.Getenv(serverEnv)}
	if d.url == "" {
		return nil, errors.New(serverEnv + " is not set: run `make bench-peers`, which starts a server, or name one of yours")
	}
	var err error
	if d.admin, err = pgx.Connect(ctx, d.url); err != nil {
		return nil, err
	}
	var backend int
	if err := d.admin.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&backend); err != nil {
		return nil, err
	}
	if s, err := statOf(backend); err == nil {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.parent)); err == nil && strings.HasPrefix(string(name), "postgres") {
			d.postmaster = s.parent
		}
	}
	d.dir, err = os.MkdirTemp("", "cronce-bench-")
	return d, err
}

// CPU is the processor time of the server and its sessions; 0: it is not of this machine.
func (d *Databases) CPU() (time.Duration, error) {
	if d.postmaster == 0 {
		return 0, nil
	}
	return cpuOfTree(d.postmaster)
}

// Version is the server's, with the setting that decides what a commit means.
func (d *Databases) Version(ctx context.Context) (v string, err error) {
	err = d.admin.QueryRow(ctx, `SELECT 'PostgreSQL ' || current_setting('server_version') || ', fsync ' || current_setting('fsync')`).Scan(&v)
	return v, err
}

// Fresh makes an empty database and has the server write out what the last
// round left behind.
func (d *Databases) Fresh(ctx context.Context, s Store) (string, error) {
	d.n++
	switch s {
	case Nothing:
		return "", nil
	case SQLite:
		return filepath.Join(d.dir, fmt.Sprintf("round-%d.db", d.n)), nil
	}
	name := fmt.Sprintf("cronce_bench_%d_%d", os.Getpid(), d.n)
	if _, err := d.admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	if _, err := d.admin.Exec(ctx, "CHECKPOINT"); err != nil {
		return "", err
	}
	u, err := url.Parse(d.url)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Drop removes what Fresh made.
func (d *Databases) Drop(ctx context.Context, s Store, database string) error {
	switch s {
	case Nothing:
		return nil
	case SQLite:
		return errors.Join(os.RemoveAll(database), os.RemoveAll(database+"-wal"), os.RemoveAll(database+"-shm"))
	}
	u, err := url.Parse(database)
	if err != nil {
		return err
	}
	_, err = d.admin.Exec(ctx, "DROP DATABASE "+strings.TrimPrefix(u.Path, "/")+" WITH (FORCE)")
	return err
}

// Close disconnects.
func (d *Databases) Close(ctx context.Context) error {
	return errors.Join(os.RemoveAll(d.dir), d.admin.Close(ctx))
}
