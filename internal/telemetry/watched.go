package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/ledger"
)

// watched collects at each scrape what is kept elsewhere.
type watched struct {
	breakers func() map[string]string
	counts   func() (ledger.Counts, error)
}

var (
	breakerDesc = prometheus.NewDesc("cronce_breaker_state", "1 for the state that a target's breaker is in.", []string{"target", "state"}, nil)
	runsDesc    = prometheus.NewDesc("cronce_unfinished_runs", "Unfinished runs in the ledger, by state.", []string{"state"}, nil)
	deadDesc    = prometheus.NewDesc("cronce_dead_runs_unacknowledged", "Dead runs that nobody has acknowledged.", nil, nil)
	dueDesc     = prometheus.NewDesc("cronce_oldest_due_seconds", "How long the oldest due run has waited to be started; 0 when none waits.", nil, nil)
)

func (w *watched) Describe(c chan<- *prometheus.Desc) {
	c <- breakerDesc
	c <- runsDesc
	c <- deadDesc
	c <- dueDesc
}

func (w *watched) Collect(c chan<- prometheus.Metric) {
	for target, state := range w.breakers() {
		for _, s := range []string{"closed", "half-open", "open"} {
			c <- value(breakerDesc, is(s == state), target, s)
		}
	}
	counts, err := w.counts()
	if err != nil {
		return // the ledger's own metrics say that it fails
	}
	for _, s := range ledger.Unfinished {
		c <- value(runsDesc, float64(counts.Unfinished[s]), string(s))
	}
	c <- value(deadDesc, float64(counts.DeadUnseen))
	waited := 0.0
	if !counts.OldestDue.IsZero() {
		waited = max(0, time.Since(counts.OldestDue).Seconds())
	}
	c <- value(dueDesc, waited)
}

func value(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func statusText(status int) string { return strconv.Itoa(status) }
