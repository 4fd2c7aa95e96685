package pgsql_test

import (
	"net/url"
	"testing"

	"github.com/cronce/cronce/internal/testdb"
)

// Each transaction may have another of the server's sessions, so that nothing
// can be prepared; the drivers have to be told so.
func TestContractThroughPgBouncer(t *testing.T) {
	pooler, err := url.Parse(testdb.PgBouncer(t, testdb.Postgres(t)))
	if err != nil {
		t.Fatal(err)
	}
	for driver, unprepared := range map[string][2]string{
		"pgx": {"default_query_exec_mode", "exec"},
		"pq":  {"binary_parameters", "yes"},
	} {
		t.Run(driver, func(t *testing.T) {
			contract(t, drivers[driver], func(address string) string {
				u, err := url.Parse(address)
				if err != nil {
					t.Fatal(err)
				}
				u.Host = pooler.Host
				query := u.Query()
				query.Set(unprepared[0], unprepared[1])
				u.RawQuery = query.Encode()
				return u.String()
			})
		})
	}
}
