package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
)

// decisions is the table of docs/aws.md: what an event says decides its run. In
// these bubbles it is a minute past 2000-01-01T00:00:00Z.
var decisions = map[string]struct {
	payload string
	runID   string // "": refused
	refusal string
}{
	"time of a scheduled time":            {`{"jobId":"hourly","scheduledAt":"2000-01-01T00:00:00Z"}`, "hourly@2000-01-01T00:00:00Z", ""},
	"time of a scheduled time, and an id": {`{"jobId":"hourly","scheduledAt":"2000-01-01T00:00:20Z","id":"x"}`, "hourly@2000-01-01T00:00:00Z", ""},
	"time of none":                        {`{"jobId":"hourly","scheduledAt":"1999-12-31T23:30:00Z"}`, "", "has no id"},
	"time of none, and an id":             {`{"jobId":"hourly","scheduledAt":"1999-12-31T23:30:00Z","id":"x"}`, "hourly@1999-12-31T23:30:00Z~x", ""},
	"no time, an id":                      {`{"jobId":"hourly","id":"x"}`, "hourly@1970-01-01T00:00:00Z~x", ""},
	"no time, a UUIDv7":                   {`{"jobId":"hourly","id":"00dc6acf-ac00-7000-8000-000000000000"}`, "hourly@2000-01-01T00:00:00Z~00dc6acf-ac00-7000-8000-000000000000", ""},
	"neither":                             {`{"jobId":"hourly"}`, "", "without scheduledAt and without id"},
	"a rule's time of a scheduled time":   {ruleEvent("e1", "hourly", "2000-01-01T00:00:00Z"), "hourly@2000-01-01T00:00:00Z", ""},
	"a rule's time of none":               {ruleEvent("e1", "hourly", "1999-12-31T23:30:00Z"), "hourly@1999-12-31T23:30:00Z~e1", ""},
	"a rule's, of the same minute":        {ruleEvent("e2", "hourly", "2000-01-01T00:00:59Z"), "hourly@2000-01-01T00:00:00Z", ""},
	"a rule's event without an id":        {strings.Replace(ruleEvent("", "hourly", "2000-01-01T00:00:00Z"), `"id":"",`, "", 1), "", "has no id"},
	"a rule's event without a time":       {ruleEvent("e1", "hourly", ""), "", "is not a time"},
	"a rule's transformed to job + id":    {`{"jobId":"hourly","id":"17793124-05d4-b198-2fde-7ededc63b103"}`, "hourly@1970-01-01T00:00:00Z~17793124-05d4-b198-2fde-7ededc63b103", ""},
}

func decisionHandler(t *testing.T) (*handler, *recorded) {
	h, c := newTestHandler(t, fresh, jobs.Job{ID: "hourly", Schedule: "0 * * * *", Retry: jobs.Retry{Horizon: 10 * time.Hour}})
	time.Sleep(time.Minute) // in a bubble
	return h, c
}

func TestWhatAnEventSaysDecidesItsRun(t *testing.T) {
	for name, tc := range decisions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, c := decisionHandler(t)
				_, err := h.Invoke(t.Context(), []byte(tc.payload))
				checkDecision(t, c, tc.runID, 1)
				if tc.runID == "" && (err == nil || !strings.Contains(err.Error(), tc.refusal)) || tc.runID != "" && err != nil {
					t.Errorf("error %v, want %q", err, tc.refusal)
				}
			})
		})
	}
}

// The queue adds nothing to what an event says: sent in two messages, it asks
// for the run that it asks for without a queue, or is refused as there.
func TestAMessagesIDIsNoPartOfTheRun(t *testing.T) {
	for name, tc := range decisions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, c := decisionHandler(t)
				body, _ := json.Marshal(tc.payload)
				record := func(id string) string {
					return fmt.Sprintf(`{"messageId":%q,"body":%s,"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:a:1:q.fifo"}`, id, body)
				}
				out, err := h.Invoke(t.Context(), []byte(`{"Records":[`+record("m-1")+","+record("m-2")+`]}`))
				checkDecision(t, c, tc.runID, 2)
				want := `{"batchItemFailures":[]}`
				if tc.runID == "" {
					want = `{"batchItemFailures":[{"itemIdentifier":"m-1"},{"itemIdentifier":"m-2"}]}`
				}
				if err != nil || string(out) != want {
					t.Errorf("%s, %v", out, err)
				}
			})
		})
	}
}

func checkDecision(t *testing.T, c *recorded, runID string, calls int) {
	t.Helper()
	if runID == "" {
		calls = 0
	}
	if len(c.calls) != calls {
		t.Fatalf("%d calls, want %d", len(c.calls), calls)
	}
	for _, call := range c.calls {
		if call.RunID != runID {
			t.Errorf("run %s, want %s", call.RunID, runID)
		}
	}
}

// Whatever is got, an error stays short: it is logged, and kept by the platform.
func TestAnErrorRepeatsNoLongPayload(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, payload := range map[string]string{
		"a job's id":        `{"jobId":"` + long + `","id":"1"}`,
		"a field's name":    `{"` + long + `":1}`,
		"an unknown field":  `{"jobId":"hourly","` + long + `":1}`,
		"a source":          `{"source":"` + long + `"}`,
		"a number":          strings.Repeat("7", 5000),
		"a time":            `{"jobId":"hourly","scheduledAt":"` + long + `"}`,
		"a placeholder":     `{"jobId":"hourly","scheduledAt":"<aws.scheduler.` + long + `"}`,
		"a rule's name":     ruleEvent("e", long, "2026-11-21T03:00:00Z"),
		"a rule's time":     ruleEvent("e", "hourly", long),
		"a records' source": `{"Records":[{"messageId":"m","eventSource":"` + long + `"}]}`,
	} {
		h, _ := newTestHandler(t, fresh, jobs.Job{ID: "hourly", Schedule: "0 * * * *"})
		if _, err := h.Invoke(t.Context(), []byte(payload)); err == nil || len(err.Error()) > 700 {
			t.Errorf("%s: %d characters: %.900v", name, len(fmt.Sprint(err)), err)
		}
	}
}
