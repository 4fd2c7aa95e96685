package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// A run is written whatever query mode the URL asks of pgx.
func TestARunIsWrittenInEveryQueryMode(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			f := newFleet(t, 3, ledger.OverlapSkip)
			f.Close()
			f.open(t, and(f.url, "default_query_exec_mode="+strings.ReplaceAll(mode.String(), " ", "_")))
			f.record(t, f.admit(t, true))
			if got, err := f.List(t.Context(), ledger.Filter{States: []ledger.State{ledger.Succeeded}}); err != nil || len(got) != 3 {
				t.Errorf("%d runs succeeded: %v", len(got), err)
			}
		})
	}
}
