package telemetry

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/jobs"
)

// The bounds of cronce_job_info: the first jobs by ID, and the first names of their labels.
const (
	infoJobs   = 10_000
	infoLabels = 10
)

// jobInfo has a series for each job of the registry, with what alerts are routed by. Its
// label names are those of the jobs' labels, so it describes itself by what it collects.
type jobInfo struct{ registry func() *jobs.Registry }

func (jobInfo) Describe(chan<- *prometheus.Desc) {}

func (i jobInfo) Collect(c chan<- prometheus.Metric) {
	reg := i.registry()
	if reg == nil {
		return
	}
	list := slices.Collect(reg.JobsAndTemplates())
	list = list[:min(len(list), infoJobs)]
	names := labelNames(list)
	labels := append([]string{"job", "owner", "target"}, slices.Sorted(maps.Keys(names))...)
	desc := prometheus.NewDesc("cronce_job_info", "1 for each job of the registry, with its owner, target and labels; at most 10000.", labels,
		nil)
	for _, j := range list {
		of := []string{j.ID, j.Owner, j.Target}
		for _, name := range labels[3:] {
			of = append(of, j.Labels[names[name]])
		}
		c <- value(desc, 1, of...)
	}
}

// labelNames returns the first names of labels, by the names that Prometheus takes. Of two
// that become the same name, the first by order counts.
func labelNames(list []jobs.Job) map[string]string {
	all := map[string]bool{}
	for _, j := range list {
		for name := range j.Labels {
			all[name] = true
		}
	}
	names := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		taken := "label_" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '_'
		}, name)
		if names[taken] == "" && len(names) < infoLabels {
			names[taken] = name
		}
	}
	return names
}
