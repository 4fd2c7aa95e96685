package telemetry_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/ledger"
)

func TestTheSchedulesOfTemplatesAreCounted(t *testing.T) {
	m := telemetry.NewMetrics()
	m.WatchSchedules(func() (list []telemetry.TemplateSchedules, err error) {
		list = []telemetry.TemplateSchedules{{Template: "report", Schedules: 7, Max: 10}, {Template: "gone", Schedules: 2}}
		for i := range 2000 {
			list = append(list, telemetry.TemplateSchedules{Template: fmt.Sprint("t", i)})
		}
		return list, nil
	})
	text := scrape(t, m)
	for _, line := range []string{`cronce_schedules{job="report"} 7`, `cronce_schedules_max{job="report"} 10`, `cronce_schedules_max{job="gone"} 0`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if n := strings.Count(text, "cronce_schedules{"); n != 1000 {
		t.Errorf("%d series", n)
	}
	m = telemetry.NewMetrics()
	m.WatchSchedules(func() ([]telemetry.TemplateSchedules, error) { return nil, ledger.ErrUnavailable })
	if text := scrape(t, m); strings.Contains(text, "cronce_schedules{") {
		t.Errorf("without a ledger:\n%s", text)
	}
}
