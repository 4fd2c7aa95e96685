package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// At the start of a daemon, any number of replicas may do this at once.
func ExampleUp() {
	steps, err := migrate.Up(context.Background(), os.Getenv("CRONCE_DATABASE_URL"), postgres.Schema("cronce"))
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range steps {
		fmt.Println("applied", s.Name)
	}
}

func TestALedgerOpensOnceItsTablesAreThere(t *testing.T) {
	url, schema := testdb.Postgres(t), postgres.Schema("elsewhere")
	if _, err := postgres.Open(t.Context(), url, schema); !errors.Is(err, ledger.ErrSchema) {
		t.Errorf("opened without tables: %v", err)
	}
	steps, err := migrate.Status(t.Context(), url, schema)
	if err != nil || len(steps) == 0 || !steps[0].AppliedAt.IsZero() {
		t.Errorf("before: %+v, %v", steps, err)
	}
	if steps, err = migrate.Up(t.Context(), url, schema); err != nil || len(steps) == 0 {
		t.Fatalf("did %+v, %v", steps, err)
	}
	if last := steps[len(steps)-1].Version; last != postgres.SchemaVersion {
		t.Errorf("the newest migration is %d, and the ledger asks for %d", last, postgres.SchemaVersion)
	}
	if steps, err = migrate.Status(t.Context(), url, schema); err != nil || steps[0].AppliedAt.IsZero() {
		t.Errorf("after: %+v, %v", steps, err)
	}
	l, err := postgres.Open(t.Context(), url, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestADatabaseThatIsDownIsSaidToBe(t *testing.T) {
	_, err := migrate.Up(t.Context(), "postgres://nobody:secret@127.0.0.1:1/none?connect_timeout=2")
	if !errors.Is(err, ledger.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
