package main

import (
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

// Whatever the platform delivers, a run that comes of it has a run ID that can
// be read, of the event's own job, and the same one at every delivery.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"jobId":"hourly","scheduledAt":"2026-11-21T03:00:00Z"}`,
		`{"jobId":"hourly","id":"pay 7/é"}`,
		`{"jobId":"hourly","id":"00dc6acf-ac00-7000-8000-000000000000"}`,
		`{"id":"e","detail-type":"Scheduled Event","time":"2026-11-21T03:00:41Z","resources":["arn:aws:events:eu-west-1:1:rule/bus/hourly"],"detail":{}}`,
		`[`, `null`, `{"jobId":7}`, `{"jobId":"hourly","scheduledAt":"<aws.scheduler.scheduled-time>"}`,
	} {
		f.Add([]byte(seed))
	}
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Job{ID: "hourly", Schedule: "0 * * * *", Target: "svc", Path: "/hourly"})
	if err != nil {
		f.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 3, 0, 30, 0, time.UTC)
	f.Fuzz(func(t *testing.T, payload []byte) {
		run, job := identifyPayload(reg, payload, now)
		if run == "" {
			return
		}
		if again, _ := identifyPayload(reg, payload, now.Add(time.Minute)); again != "" && again != run {
			t.Fatalf("%s is %s, and a minute later %s", payload, run, again)
		}
		if id, _, _, err := jobs.ParseRunID(run); err != nil || id != job {
			t.Fatalf("%s is %q of job %q: %v", payload, run, id, err)
		}
	})
}

// identifyPayload is the run ID of a payload; "" when it asks for no run.
func identifyPayload(reg *jobs.Registry, payload []byte, now time.Time) (runID, jobID string) {
	s, err := parseShape(payload)
	if err != nil {
		return "", ""
	}
	ev, err := s.event()
	if err != nil {
		return "", ""
	}
	j, ok := reg.Job(ev.jobID)
	if !ok {
		return "", ""
	}
	id, err := identify(j, ev, now)
	if err != nil {
		return "", ""
	}
	return id.runID, j.ID
}
