package testdb

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

var mariadb = &engine{
	name:    "MariaDB",
	env:     "TEST_MYSQL_URL",
	account: "mysql",
	local:   mariadbLocal,
	docker:  mariadbDocker,
	url:     mariadbURL,
	ping:    func(server string) error { return mariadbExec(server, "SELECT 1") },
	create:  mariadbCreate,
	drop:    mariadbDrop,
}

func mariadbURL(port int) string { return fmt.Sprintf("root@tcp(127.0.0.1:%d)/", port) }

func mariadbLocal(dir string, port int, d Durability) (*recipe, error) {
	server, err := find([]string{"mariadbd"}, "/usr/sbin/mariadbd", "/usr/local/sbin/mariadbd")
	if err != nil {
		return nil, err
	}
	install, err := find([]string{"mariadb-install-db", "mysql_install_db"})
	if err != nil {
		return nil, err
	}
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	serve := []string{
		server, "--no-defaults", "--datadir=" + data, "--socket=" + socket, "--tmpdir=" + dir,
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port),
	}
	return &recipe{
		prepare: []string{
			install, "--no-defaults", "--datadir=" + data,
			"--auth-root-authentication-method=normal", "--skip-test-db",
		},
		serve:     append(serve, mariadbSettings(d)...),
		ready:     "root@unix(" + socket + ")/",
		fast:      syscall.SIGTERM,
		immediate: syscall.SIGKILL,
	}, nil
}

func mariadbDocker(port int, d Durability) *recipe {
	serve := []string{
		"docker", "run", "--rm", "--publish", fmt.Sprintf("127.0.0.1:%d:3306", port),
		"--env", "MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1", "mariadb:11.8",
	}
	return &recipe{
		serve:     append(serve, mariadbSettings(d)...),
		ready:     mariadbURL(port),
		fast:      syscall.SIGTERM,
		immediate: syscall.SIGQUIT, // docker does not pass SIGKILL on
	}
}

func mariadbSettings(d Durability) []string {
	settings := []string{"--max-connections=300", "--default-time-zone=+05:45"}
	if d == Volatile {
		settings = append(settings, "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0")
	}
	return settings
}

func mariadbCreate(server, name string) (string, error) {
	config, err := mariadbConfig(server)
	if err != nil {
		return "", err
	}
	config.DBName = name
	return config.FormatDSN(), mariadbExec(server, "CREATE DATABASE "+name)
}

func mariadbDrop(server, database string) error {
	config, err := mysql.ParseDSN(database)
	if err != nil {
		return err
	}
	return mariadbExec(server, "DROP DATABASE "+config.DBName)
}

// mariadbConfig reads a go-sql-driver DSN, or the mysql:// URL that people are
// used to write.
func mariadbConfig(server string) (*mysql.Config, error) {
	if !strings.HasPrefix(server, "mysql://") {
		return mysql.ParseDSN(server)
	}
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User = "tcp", u.Host, u.User.Username()
	config.Passwd, _ = u.User.Password()
	if u.Port() == "" {
		config.Addr += ":3306"
	}
	return config, nil
}

func mariadbExec(server, statement string) error {
	config, err := mariadbConfig(server)
	if err != nil {
		return err
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := bounded()
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	return err
}
