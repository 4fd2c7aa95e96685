package testdb

import (
	"bytes"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

var postgres = &engine{
	name:    "PostgreSQL",
	env:     "TEST_POSTGRES_URL",
	account: "postgres",
	local:   postgresLocal,
	docker:  postgresDocker,
	url:     postgresURL,
	ping:    func(server string) error { return postgresExec(server, "SELECT 1") },
	create:  postgresCreate,
	drop:    postgresDrop,
	empty:   postgresEmpty,
}

// postgresURL has no password: the server trusts this machine.
func postgresURL(port int) string {
	return fmt.Sprintf("postgres://cronce@127.0.0.1:%d/postgres?sslmode=disable", port)
}

func postgresLocal(dir string, port int, d Durability) (*recipe, error) {
	server, err := find([]string{"postgres"}, "/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return nil, err
	}
	// initdb stands beside the server, but is not always on PATH with it.
	initdb := filepath.Join(filepath.Dir(server), "initdb")
	data := filepath.Join(dir, "data")
	prepare := []string{
		initdb, "--pgdata=" + data, "--username=cronce", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync",
	}
	serve := []string{
		server, "-D", data, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + dir,
	}
	return &recipe{
		prepare:   append(prepare, postgresCollation(initdb)...),
		serve:     append(serve, postgresSettings(d)...),
		ready:     fmt.Sprintf("host=%s port=%d user=cronce dbname=postgres", dir, port),
		fast:      syscall.SIGINT,
		immediate: syscall.SIGQUIT,
	}, nil
}

// postgresCollation is a linguistic one, as managed PostgreSQL has: it sorts ids
// otherwise than Go does. Versions before 15 keep to C.
func postgresCollation(initdb string) []string {
	help, err := exec.Command(initdb, "--help").Output()
	if err != nil || !bytes.Contains(help, []byte("--icu-locale")) {
		return nil
	}
	return []string{"--locale-provider=icu", "--icu-locale=en-US"}
}

func postgresDocker(port int, d Durability) *recipe {
	serve := []string{
		"docker", "run", "--rm", "--publish", fmt.Sprintf("127.0.0.1:%d:5432", port),
		"--env", "POSTGRES_USER=cronce", "--env", "POSTGRES_DB=postgres",
		"--env", "POSTGRES_HOST_AUTH_METHOD=trust",
		"--env", "POSTGRES_INITDB_ARGS=--locale=C --locale-provider=icu --icu-locale=en-US", "postgres:17-alpine",
	}
	return &recipe{
		serve:     append(serve, postgresSettings(d)...),
		ready:     postgresURL(port),
		fast:      syscall.SIGINT,
		immediate: syscall.SIGQUIT,
	}
}

func postgresSettings(d Durability) []string {
	// Tests of all packages share the table of locks, and some take thousands.
	settings := []string{"-c", "max_connections=300", "-c", "max_locks_per_transaction=512", "-c", "timezone=Asia/Kathmandu"}
	if d == Volatile {
		settings = append(settings, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	return settings
}

// with is the engine with more arguments of its own.
func (e *engine) with(args []string) *engine {
	own := *e
	own.local = func(dir string, port int, d Durability) (*recipe, error) {
		r, err := e.local(dir, port, d)
		if err == nil {
			r.serve = append(r.serve, args...)
		}
		return r, err
	}
	own.docker = func(port int, d Durability) *recipe {
		r := e.docker(port, d)
		r.serve = append(r.serve, args...)
		return r
	}
	return &own
}

func postgresCreate(server, name string) (string, error) {
	database, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	database.Path = "/" + name
	return database.String(), maintenance.exec(server, "CREATE DATABASE "+name)
}

// postgresDrop also ends what a failed test left connected.
func postgresDrop(server, database string) error {
	u, err := url.Parse(database)
	if err != nil {
		return err
	}
	return maintenance.exec(server, "DROP DATABASE "+u.Path[1:]+" WITH (FORCE)")
}
