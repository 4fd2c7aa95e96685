package testdb

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// oracle is Oracle's MySQL. It is spoken to as MariaDB is.
var oracle = &engine{
	name:     "MySQL",
	env:      "TEST_ORACLE_MYSQL_URL",
	account:  "mysql",
	optional: true,
	local:    oracleLocal,
	docker:   oracleDocker,
	url:      mariadbURL,
	ping:     mariadb.ping,
	create:   mariadbCreate,
	drop:     mariadbDrop,
}

func oracleLocal(dir string, port int, d Durability) (*recipe, error) {
	server, err := findMySQL()
	if err != nil {
		return nil, err
	}
	// Packages set a directory that only their own installation makes.
	common := []string{server, "--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--secure-file-priv=NULL"}
	socket := filepath.Join(dir, "socket")
	serve := append(common[:len(common):len(common)],
		"--socket="+socket, "--tmpdir="+dir, "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port))
	return &recipe{
		prepare:   append(common[:len(common):len(common)], "--initialize-insecure"),
		serve:     append(serve, oracleSettings(d)...),
		ready:     "root@unix(" + socket + ")/",
		fast:      syscall.SIGTERM,
		immediate: syscall.SIGKILL,
	}, nil
}

// findMySQL is TEST_MYSQLD, or the mysqld of this machine. MariaDB's packages
// bring one of that name too, which is not it.
func findMySQL() (string, error) {
	if path := os.Getenv("TEST_MYSQLD"); path != "" {
		if err := exec.Command(path, "--no-defaults", "--version").Run(); err != nil {
			return "", fmt.Errorf("the server named by TEST_MYSQLD does not run: %w", err)
		}
		return path, nil
	}
	path, err := find([]string{"mysqld"}, "/usr/sbin/mysqld", "/usr/local/mysql/bin/mysqld")
	if err != nil {
		return "", err
	}
	version, err := exec.Command(path, "--no-defaults", "--version").Output()
	if err != nil || strings.Contains(string(version), "MariaDB") {
		return "", errMissing
	}
	return path, nil
}

func oracleDocker(port int, d Durability) *recipe {
	serve := []string{
		"docker", "run", "--rm", "--publish", fmt.Sprintf("127.0.0.1:%d:3306", port),
		"--env", "MYSQL_ALLOW_EMPTY_PASSWORD=1", "mysql:8.4",
	}
	return &recipe{
		serve:     append(serve, oracleSettings(d)...),
		ready:     mariadbURL(port),
		fast:      syscall.SIGTERM,
		immediate: syscall.SIGQUIT, // docker does not pass SIGKILL on
	}
}

func oracleSettings(d Durability) []string {
	settings := append(mariadbSettings(d), "--mysqlx=OFF")
	if d == Volatile {
		settings = append(settings, "--skip-log-bin")
	}
	return settings
}
