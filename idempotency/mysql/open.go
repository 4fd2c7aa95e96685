package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Open makes a store on a small pool of its own, for a program that only maintains
// the keys of a service, such as a purge. It takes the driver's own form,
// user:password@tcp(host:3306)/database, and
// mysql://user:password@host:3306/database with the driver's parameters. It does
// not connect yet. No error shows the address. close ends the pool.
func Open(address string, o Options) (s *Store, close func(), err error) {
	config, err := parse(address)
	if err != nil {
		// What was parsed may hold a password; so may the parser's message.
		return nil, nil, errors.New("the address cannot be read: it should look like mysql://user:password@host:3306/database or " +
			"user:password@tcp(host:3306)/database")
	}
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, nil, errors.New("the address has a parameter that the driver does not take")
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(2)
	return New(db, o), func() { db.Close() }, nil
}

func parse(address string) (*mysql.Config, error) {
	rest, isURL := strings.CutPrefix(address, "mysql://")
	if !isURL {
		return mysql.ParseDSN(address)
	}
	u, err := url.Parse("mysql://" + rest)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("not a URL: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	config, err := mysql.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, err
	}
	config.Net, config.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	config.DBName = strings.TrimPrefix(u.Path, "/")
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	return config, nil
}
