package postgres_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// plans are the server's explanations of the statements that it ran.
type plans struct {
	mu    sync.Mutex
	texts []string
}

// collect has the server explain to its client every statement of the ledger.
func (p *plans) collect() postgres.Option {
	return postgres.Tune(func(c *pgxpool.Config) {
		for name, value := range map[string]string{
			"session_preload_libraries":     "auto_explain",
			"auto_explain.log_min_duration": "0",
			"auto_explain.log_analyze":      "on",
			"auto_explain.log_timing":       "off",
			"client_min_messages":           "log",
		} {
			c.ConnConfig.RuntimeParams[name] = value
		}
		c.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if text := n.Message; strings.Contains(text, "plan:") && !slices.Contains(p.texts, text) {
				p.texts = append(p.texts, text)
			}
		}
	})
}

// TestTheStatementsOfARunArePlannedOnce: to plan one anew each time would cost
// as much as the rest of it. Of parameters that it does not look at, the server
// guesses that they have 10 elements.
func TestTheStatementsOfARunArePlannedOnce(t *testing.T) {
	f := newFleet(t, 200, ledger.OverlapSkip)
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	for range 8 {
		f.record(t, f.admit(t, true))
	}
	for name, begins := range map[string]string{"admission": "INSERT INTO runs", "record": "UPDATE runs r SET changed"} {
		last := ""
		for _, p := range seen.texts {
			if strings.Contains(p, begins) {
				last = p
			}
		}
		if !guessed.MatchString(last) {
			t.Errorf("the eighth %s was planned for its own parameters:\n%s", name, last)
		}
	}
}
