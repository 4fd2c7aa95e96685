package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/ledger"
)

// watched collects at each scrape what is kept elsewhere.
type watched struct {
	breakers func() map[string]string
	counts   func() (ledger.Counts, error)
	troubles func() (Troubles, error)
}

// Troubles are what is wrong with single jobs. Healthy jobs are not in them, and a
// source of them is bounded: so is the number of series.
type Troubles struct {
	Incidents []ledger.Incident // open ones
	Dead      map[string]int    // unacknowledged dead runs, by job
}

var (
	breakerDesc = prometheus.NewDesc("cronce_breaker_state", "1 for the state that a target's breaker is in.", []string{"target", "state"},
		nil)
	runsDesc     = prometheus.NewDesc("cronce_unfinished_runs", "Unfinished runs in the ledger, by state.", []string{"state"}, nil)
	deadDesc     = prometheus.NewDesc("cronce_dead_runs_unacknowledged", "Dead runs that nobody has acknowledged.", nil, nil)
	openDesc     = prometheus.NewDesc("cronce_incidents_open", "Open incidents.", nil, nil)
	incidentDesc = prometheus.NewDesc("cronce_incident_open", "1 for a job that has an open incident of the cause; at most 1000.",
		[]string{"job", "cause"}, nil)
	deadOfDesc = prometheus.NewDesc("cronce_job_dead_runs_unacknowledged",
		"Dead runs of a job that nobody has acknowledged, among the newest 1000 of all jobs.", []string{"job"}, nil)
	aheadDesc = prometheus.NewDesc("cronce_ledger_ahead_seconds",
		"How far the ledger's latest watermark is ahead of its clock; 0 unless the clock was set back.", nil, nil)
	dueDesc = prometheus.NewDesc("cronce_oldest_due_seconds", "How long the oldest due run has waited to be started; 0 when none waits.",
		nil, nil)
)

func (w *watched) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{breakerDesc, runsDesc, deadDesc, dueDesc, aheadDesc, openDesc, incidentDesc, deadOfDesc} {
		c <- d
	}
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
	c <- value(deadDesc, float64(counts.DeadUnacknowledged))
	waited := 0.0
	if !counts.OldestDue.IsZero() {
		waited = max(0, counts.Now.Sub(counts.OldestDue).Seconds())
	}
	c <- value(dueDesc, waited)
	c <- value(aheadDesc, counts.Ahead().Seconds())
	c <- value(openDesc, float64(counts.Incidents))
	if counts.Incidents == 0 && counts.DeadUnacknowledged == 0 {
		return
	}
	t, err := w.troubles()
	if err != nil {
		return
	}
	for _, i := range t.Incidents {
		c <- value(incidentDesc, 1, i.JobID, string(i.Cause))
	}
	for job, n := range t.Dead {
		c <- value(deadOfDesc, float64(n), job)
	}
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
