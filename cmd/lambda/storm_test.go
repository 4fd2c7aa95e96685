package main

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Fifty functions are woken at once on a server that takes twenty connections:
// each waits for one, all answer, and none is taken from an operator who looks at the
// runs afterwards.
func TestMoreFunctionsThanConnectionsAllAnswer(t *testing.T) {
	t.Parallel()
	server := testdb.PostgresServer(t, "max_connections=20")
	db, err := server.Create("storm")
	if err != nil {
		t.Fatal(err)
	}
	l := migrated(t, db)
	ordinary := asOrdinaryUser(t, db)
	const functions = 50
	var woken sync.WaitGroup
	for i := range functions {
		h, _ := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *", Overlap: jobs.OverlapAllow})
		h.caller = slowly{}
		h.useLedger(t, ordinary)
		woken.Go(func() {
			payload := fmt.Sprintf(`{"jobId":"minutely","id":"event-%d"}`, i)
			if err := inTime(t, h, time.Minute, payload); err != nil {
				t.Errorf("function %d: %v", i, err)
			}
		})
	}
	woken.Wait()
	c, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	awaitNoConnections(t, c)
	if runs := mustRuns(t, l, ledger.Filter{States: []ledger.State{ledger.Succeeded}}); len(runs) != functions {
		t.Errorf("%d runs succeeded, want %d", len(runs), functions)
	}
}

// asOrdinaryUser is the database's URL for a user who gets none of the
// connections that are kept for administrators.
func asOrdinaryUser(t *testing.T, db string) string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, sql := range []string{
		`CREATE ROLE app LOGIN`, `GRANT USAGE ON SCHEMA cronce TO app`, `GRANT ALL ON ALL TABLES IN SCHEMA cronce TO app`,
		`GRANT ALL ON ALL SEQUENCES IN SCHEMA cronce TO app`,
	} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("app")
	return u.String()
}

// slowly takes a while, as targets do.
type slowly struct{}

func (slowly) Call(ctx context.Context, _ executor.Call) executor.Answer {
	sleep(ctx, 200*time.Millisecond)
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}
