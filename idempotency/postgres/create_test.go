package postgres_test

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

// IF NOT EXISTS is no guard against another session's uncommitted CREATE.
func TestProcessesThatStartAtOnceCreateOneTable(t *testing.T) {
	p := pool(t, testdb.Postgres(t))
	store := postgres.New(p, postgres.Options{Schema: "billing"})
	var starts sync.WaitGroup
	for range 6 {
		starts.Go(func() {
			if err := store.CreateTable(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	if err := store.Check(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// A service's role seldom may create; the table is there already.
func TestATableThatExistsNeedsNoRightToCreate(t *testing.T) {
	p := pool(t, database(t))
	role := "kit_reader_" + strings.ToLower(rand.Text())
	must(t, p, `CREATE ROLE `+role)
	t.Cleanup(func() { must(t, p, `DROP OWNED BY `+role); must(t, p, `DROP ROLE `+role) })
	must(t, p, `GRANT USAGE ON SCHEMA accounting TO `+role)
	limited := pool(t, p.Config().ConnString(), func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = role })
	if err := postgres.New(limited, options).CreateTable(t.Context()); err != nil {
		t.Error(err)
	}
	if err := postgres.New(limited, postgres.Options{Schema: "billing"}).CreateTable(t.Context()); err == nil {
		t.Error("a role without the right to create made a schema")
	}
}
