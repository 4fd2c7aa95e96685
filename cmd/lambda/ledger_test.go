package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

func TestALedgerThatIsDownFailsTheEvent(t *testing.T) {
	h, c := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *"})
	h.ledger = &database{url: "postgres://nobody:secret@127.0.0.1:1/none?connect_timeout=2"}
	_, err := h.Invoke(t.Context(), []byte(releaseLike("minutely")))
	if !errors.Is(err, ledger.ErrUnavailable) || strings.Contains(err.Error(), "secret") || len(c.calls) > 0 {
		t.Errorf("%v, %d calls", err, len(c.calls))
	}
}

// A database that takes connections and says nothing must not hold an event
// beyond its time: the platform would be told of a timeout instead.
func TestALedgerThatHangsFailsTheEventInTime(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	h, _ := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *"})
	h.ledger = &database{url: "postgres://nobody@" + silent.Addr().String() + "/none?sslmode=disable&connect_timeout=600"}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := h.Invoke(ctx, []byte(releaseLike("minutely")))
		failed <- err
	}()
	c, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	select {
	case err := <-failed:
		if !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("still waiting for the database")
		_ = c.Close()
		<-failed
	}
}

// Another registry's runs have the same ids and another principal: to answer its
// events from this ledger would be to take its runs for ours.
func TestTheLedgerOfAnotherRegistryFailsTheEvent(t *testing.T) {
	url := testdb.Postgres(t)
	migrated(t, url)
	other, err := postgres.Open(t.Context(), url, postgres.Registry("other"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	h, c := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *"})
	if h.ledger, err = newDatabase(url, h.reg.Name()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Invoke(t.Context(), []byte(releaseLike("minutely"))); !errors.Is(err, ledger.ErrOtherRegistry) || len(c.calls) > 0 {
			t.Errorf("%v, %d calls", err, len(c.calls))
		}
	}
}

func TestOnlyPostgreSQLIsALedger(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite:cronce.db":       "SQLite",
		"mysql://user:secret@db": "is not postgres://",
		"postgres://db/cronce":   "",
		"postgres://a:1,b:2/cronce?default_query_exec_mode=cache_describe":     "",
		"postgres://u:secret@a:1,b:2/cronce?default_query_exec_mode=exec":      "write cache_describe",
		"postgres://u:secret@a/cronce?default_query_exec_mode=simple_protocol": "write cache_describe",
		"postgresql://db/cronce": "",
	} {
		_, err := newDatabase(url, "acme")
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", url, err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error shows the URL", url)
		}
	}
}
