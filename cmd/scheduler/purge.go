package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

type nightly struct {
	reg *jobs.Registry
	s   store
}

func (a *app) purge(reg *jobs.Registry, s store, _ *slog.Logger) executor.Caller {
	return &nightly{reg, s}
}

func (n *nightly) Call(ctx context.Context, _ executor.Call) executor.Answer {
	total := 0
	var from time.Time
	for {
		p, err := n.s.PurgeRuns(ctx, ledger.Purge{Retention: n.reg.Cleanup().LedgerRetention, DeadRetention: 10 * n.reg.Cleanup().LedgerRetention, From: from})
		total += p.Runs
		if err != nil {
			return executor.Answer{Kind: ledger.Failed, Error: err.Error()}
		}
		if !p.More {
			detail, _ := json.Marshal(map[string]int{"runs": total})
			return executor.Answer{Kind: ledger.Fresh, Status: 200, Detail: string(detail)}
		}
		from = p.Reached
	}
}
