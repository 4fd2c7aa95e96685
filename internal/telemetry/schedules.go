package telemetry

import "github.com/prometheus/client_golang/prometheus"

// TemplateSchedules are the schedules of a template, made at run time.
type TemplateSchedules struct {
	Template  string
	Schedules int
	Max       int // 0: the registry does not know the template, and its schedules do not run
}

// maxTemplates bounds the number of series.
const maxTemplates = 1000

var (
	schedulesDesc = prometheus.NewDesc("cronce_schedules",
		"Schedules of a template that were made at run time and have not ended; at most 1000 templates.", []string{"job"}, nil)
	maxSchedulesDesc = prometheus.NewDesc("cronce_schedules_max",
		"How many schedules the template can have; 0 if the registry does not know it.", []string{"job"}, nil)
)

// schedules collects at each scrape the counter of each template.
type schedules func() ([]TemplateSchedules, error)

// WatchSchedules adds the number of schedules of each template.
func (m *Metrics) WatchSchedules(list func() ([]TemplateSchedules, error)) {
	m.registry.MustRegister(schedules(list))
}

func (s schedules) Describe(c chan<- *prometheus.Desc) {
	c <- schedulesDesc
	c <- maxSchedulesDesc
}

func (s schedules) Collect(c chan<- prometheus.Metric) {
	list, err := s()
	if err != nil {
		return // the ledger's own metrics say that it fails
	}
	for _, t := range list[:min(len(list), maxTemplates)] {
		c <- value(schedulesDesc, float64(t.Schedules), t.Template)
		c <- value(maxSchedulesDesc, float64(t.Max), t.Template)
	}
}
