package mysql_test

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency/mysql"
)

// Whatever the address is, Open returns, and its error shows nothing of it: it
// may hold a password.
func FuzzOpen(f *testing.F) {
	for _, address := range []string{
		"user:secret@tcp(localhost:3306)/shop", "user:secret@unix(/run/mysqld.sock)/shop?timeout=1s", "/",
		"mysql://user:secret@localhost:3306/shop", "mysql://user:s%40cret@[::1]/shop?tls=false", "mysql://:@/", "mysql://h:x/",
		"mysql://user:secret@host/shop?charset=utf8mb4&loc=Asia%2FKathmandu", "mysql://h/a%2Fb", "mysql://h?collation=none",
		"mysql://user@host:3306/shop?serverPubKey=secret", "user:secret@tcp(host:3306", "", "mysql:", "@", "?timeout=secret",
	} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		_, close, err := mysql.Open(address, mysql.Options{})
		if err == nil {
			close()
			return
		}
		for _, known := range []string{"mysql://user:password@host:3306/database or user:password@tcp(host:3306)/database",
			"the address has a parameter that the driver does not take"} {
			if strings.HasSuffix(err.Error(), known) {
				return
			}
		}
		t.Errorf("Open(%q) says %q", address, err)
	})
}

// What a URL names is what is connected to, whatever characters are in it.
func FuzzURL(f *testing.F) {
	f.Add("user", "secret", "localhost", uint16(3306), "shop")
	f.Add("us:er", "p@ss:w/rd?#%", "::1", uint16(1), "sh/op?x=1")
	f.Add("", "", "h", uint16(0), "")
	f.Fuzz(func(t *testing.T, user, password, host string, port uint16, database string) {
		if net.ParseIP(host) == nil && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || host == "" {
			return
		}
		address := net.JoinHostPort(host, "3306")
		u := url.URL{Scheme: "mysql", User: url.UserPassword(user, password), Path: "/" + database}
		u.Host = strings.TrimSuffix(address, ":3306")
		if port != 0 {
			address = net.JoinHostPort(host, strconv.Itoa(int(port)))
			u.Host = address
		}
		got, err := mysql.Parse(u.String())
		if err != nil {
			t.Fatalf("%s: %v", u.String(), err)
		}
		if got.User != user || got.Passwd != password || got.Net != "tcp" || got.Addr != address || got.DBName != database {
			t.Errorf("%s was read as %q %q at %s %s, database %q", u.String(), got.User, got.Passwd, got.Net, got.Addr, got.DBName)
		}
	})
}
