package mysql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

const notConverted = "remove character_set_connection and collation_connection"

// The error says what to do, before the first call is answered 503.
func TestReadySaysWhatIsMissing(t *testing.T) {
	for _, tt := range []struct{ name, statement, parameters, says string }{
		{"nothing", "", advised, ""},
		{"no table", `DROP TABLE idempotency_keys`, advised, "create it with CreateTable or the migrations"},
		{"no column", `ALTER TABLE idempotency_keys CHANGE owner possessor VARCHAR(64)`, advised, "owner"},
		{"chained transactions", "", advised + "&completion_type=1", "set it to NO_CHAIN"},
		{"a narrow character set", "", "?charset=gbk", "set charset=utf8mb4"},
		{"a character set without characters of four bytes", "", "?charset=utf8mb3", "set charset=utf8mb4"},
		{"a connection's set without characters of four bytes", "", advised + "&charset=utf8mb4&character_set_connection=utf8mb3", notConverted},
		{"a connection's set of ASCII", "", advised + "&charset=utf8mb4&character_set_connection=ascii", notConverted},
		{"a connection's set that lacks characters", "", "?charset=utf8mb4&character_set_connection=latin1", notConverted},
		{"a connection's set of longer characters", "", "?charset=latin1&character_set_connection=utf8mb4", notConverted},
		{"a client's set of ASCII", "", advised + "&charset=ascii&character_set_connection=utf8mb4", notConverted},
		{"a collation of another set", "", "?charset=utf8mb4&collation_connection=latin1_bin", notConverted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
				dsn := fresh(t)
				admin := open(t, dsn)
				migrate(t, admin)
				if tt.statement != "" {
					must(t, admin, tt.statement)
				}
				says(t, kitOn(t, mysql.New(open(t, dsn+tt.parameters), mysql.Options{})).Ready(t.Context()), tt.says)
			})
		})
	}
	t.Run("an isolation that reads what is not committed", func(t *testing.T) {
		testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
			dsn := fresh(t)
			migrate(t, open(t, dsn))
			says(t, kitOn(t, mysql.New(uncommitted(t, dsn, ""), mysql.Options{})).Ready(t.Context()), "READ-COMMITTED or stricter")
		})
	})
	t.Run("no privilege", func(t *testing.T) {
		testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
			dsn := fresh(t)
			admin := open(t, dsn)
			migrate(t, admin)
			user := fmt.Sprint("r", time.Now().UnixNano())
			must(t, admin, fmt.Sprintf(`CREATE USER '%s'@'%%' IDENTIFIED BY 'x'`, user))
			defer must(t, admin, fmt.Sprintf(`DROP USER '%s'@'%%'`, user))
			config := asUser(t, dsn, user, "x")
			must(t, admin, fmt.Sprintf("GRANT SELECT, INSERT, UPDATE ON `%s`.* TO '%s'@'%%'", config.DBName, user))
			says(t, kitOn(t, mysql.New(open(t, config.FormatDSN()), mysql.Options{})).Ready(t.Context()), "grant SELECT, INSERT, UPDATE and DELETE")
		})
	})
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q in it", err, want)
	}
}
