package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// recorded is a caller that answers alike and keeps what it was asked.
type recorded struct {
	answer executor.Answer
	mu     sync.Mutex
	calls  []executor.Call
}

func (r *recorded) Call(_ context.Context, c executor.Call) executor.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	return r.answer
}

func newTestHandler(t *testing.T, a executor.Answer, list ...jobs.Job) (*handler, *recorded) {
	t.Helper()
	entries := []jobs.Entry{jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for _, j := range list {
		j.Target, j.Path = "svc", "/"+j.ID
		entries = append(entries, j)
	}
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		t.Fatal(err)
	}
	c := &recorded{answer: a}
	return &handler{reg: reg, caller: c, log: slog.New(slog.DiscardHandler)}, c
}

var fresh = executor.Answer{Kind: ledger.AnswerFresh, Status: 200}

// In these bubbles it is 2000-01-01T00:00:00Z.
func TestEachKindOfEventNamesItsRun(t *testing.T) {
	const rule = `{"id":%ID%,"detail-type":"Scheduled Event","source":"aws.events","time":"%TIME%","resources":["arn:aws:events:eu-west-1:1:rule/%RULE%"],"detail":%DETAIL%}`
	event := func(id, at, name, detail string) string {
		return strings.NewReplacer("%ID%", `"`+id+`"`, "%TIME%", at, "%RULE%", name, "%DETAIL%", detail).Replace(rule)
	}
	for name, tc := range map[string]struct{ payload, runID string }{
		"a schedule's input":                 {`{"jobId":"hourly","scheduledAt":"2000-01-01T00:00:00Z"}`, "hourly@2000-01-01T00:00:00Z"},
		"a scheduled time in another offset": {`{"jobId":"hourly","scheduledAt":"2000-01-01T01:00:00+01:00"}`, "hourly@2000-01-01T00:00:00Z"},
		"with what the scheduler adds":       {`{"jobId":"hourly","scheduledAt":"2000-01-01T00:00:00Z","executionId":"x","attemptNumber":"2"}`, "hourly@2000-01-01T00:00:00Z"},
		"a fraction of a second":             {`{"jobId":"hourly","scheduledAt":"2000-01-01T00:00:00.9Z"}`, "hourly@2000-01-01T00:00:00Z"},
		"exactly a minute late":              {`{"jobId":"hourly","scheduledAt":"2000-01-01T00:01:00Z"}`, "hourly@2000-01-01T00:00:00Z"},
		"a direct invoke by id":              {`{"jobId":"hourly","id":"pay-7"}`, "hourly@1970-01-01T00:00:00Z~pay-7"},
		"a UUIDv7 says its own time":         {`{"jobId":"hourly","id":"00dc6acf-ac00-7000-8000-000000000000"}`, "hourly@2000-01-01T00:00:00Z~00dc6acf-ac00-7000-8000-000000000000"},
		"an id that no run ID takes":         {`{"jobId":"hourly","id":"pay 7/é"}`, "hourly@1970-01-01T00:00:00Z~d5a39efd7c64845d1a6f5f23873627dc"},
		"a time that fits none, with an id":  {`{"jobId":"hourly","scheduledAt":"1999-12-31T23:30:30Z","id":"x"}`, "hourly@1999-12-31T23:30:30Z~x"},
		"a rule of the job's name":           {event("e", "2000-01-01T00:00:41Z", "hourly", "{}"), "hourly@2000-01-01T00:00:00Z"},
		"a rule on a bus of its own":         {event("e", "2000-01-01T00:00:41Z", "bus/hourly", "{}"), "hourly@2000-01-01T00:00:00Z"},
		"detail goes before the rule's name": {event("e", "2000-01-01T00:00:41Z", "other", `{"jobId":"hourly"}`), "hourly@2000-01-01T00:00:00Z"},
		"a rule's time that fits none":       {event("e-1", "1999-12-31T23:30:00Z", "hourly", "{}"), "hourly@1999-12-31T23:30:00Z~e-1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, c := newTestHandler(t, fresh, jobs.Job{ID: "hourly", Schedule: "0 * * * *"})
				time.Sleep(time.Minute) // an event of a minute past is not ahead of its time
				out, err := h.Invoke(t.Context(), []byte(tc.payload))
				if err != nil {
					t.Fatal(err)
				}
				if len(c.calls) != 1 || c.calls[0].RunID != tc.runID || !strings.Contains(string(out), `"state":"succeeded"`) {
					t.Errorf("calls %+v, answer %s; want %s", c.calls, out, tc.runID)
				}
			})
		})
	}
}

func TestWhatIsNoEventSaysWhatWasGot(t *testing.T) {
	for name, tc := range map[string]struct{ payload, want string }{
		"nothing":                       {``, "got nothing"},
		"no JSON":                       {`hello`, "got 5 bytes that are not JSON"},
		"an array":                      {`[{}]`, "got a JSON array"},
		"null":                          {`null`, "got the JSON value null"},
		"an empty object":               {`{}`, "got an empty object"},
		"another service's event":       {`{"Records":[{"eventSource":"aws:s3","s3":{}}]}`, `got Records of "aws:s3"`},
		"an HTTP request":               {`{"httpMethod":"GET","path":"/"}`, `got an object with the fields ["httpMethod" "path"]`},
		"a misspelled field":            {`{"jobId":"hourly","sheduledAt":"2000-01-01T00:00:00Z"}`, `unknown field "sheduledAt"`},
		"neither time nor id":           {`{"jobId":"hourly"}`, "without scheduledAt and without id"},
		"an id that is not Unicode":     {`{"jobId":"hourly","id":"\ud800"}`, "contains invalid Unicode"},
		"an id of broken bytes":         {"{\"jobId\":\"hourly\",\"id\":\"\xff\"}", "contains invalid Unicode"},
		"a rule's id that is none":      {`{"id":"\udfff","detail-type":"x","time":"2000-01-01T00:00:00Z","resources":["arn:aws:events:a:1:rule/hourly"]}`, "contains invalid Unicode"},
		"Records that are null":         {`{"Records":null}`, "Records is not a list"},
		"Records that are a text":       {`{"Records":"x"}`, "Records is not a list"},
		"an id that is a number":        {`{"jobId":"hourly","id":7}`, "is not a string"},
		"a time that is none":           {`{"jobId":"hourly","scheduledAt":"today"}`, `"today" is not a time`},
		"Go's zero time":                {`{"jobId":"hourly","scheduledAt":"0001-01-01T00:00:00Z"}`, "from which no event comes"},
		"the beginning of Unix time":    {`{"jobId":"hourly","scheduledAt":"1970-01-01T00:00:30Z","id":"x"}`, "from which no event comes"},
		"a rule's event of no time":     {`{"id":"e1","detail-type":"Scheduled Event","time":"0001-01-01T00:00:00Z","resources":["arn:aws:events:eu-west-1:1:rule/hourly"],"detail":{}}`, "from which no event comes"},
		"a placeholder":                 {`{"jobId":"hourly","scheduledAt":"<aws.scheduler.scheduled-time>"}`, "was not filled in"},
		"an unknown job":                {`{"jobId":"daily","scheduledAt":"2000-01-01T00:00:00Z"}`, `has no job "daily"`},
		"a disabled job":                {`{"jobId":"off","scheduledAt":"2000-01-01T00:00:00Z"}`, "is disabled"},
		"off the schedule, no id":       {`{"jobId":"hourly","scheduledAt":"1999-12-31T23:30:00Z"}`, `is not a scheduled time of job "hourly"`},
		"ahead of its time":             {`{"jobId":"hourly","scheduledAt":"2000-01-01T02:00:00Z"}`, "ahead of its time"},
		"older than its horizon":        {`{"jobId":"hourly","scheduledAt":"1999-12-30T18:00:00Z"}`, "30h0m0s old"},
		"a rule without a name":         {`{"id":"e","detail-type":"x","time":"2000-01-01T00:00:00Z","source":"shop"}`, "name no rule"},
		"a rule's event of a rate":      {`{"id":"e","detail-type":"x","time":"2000-01-01T00:00:00Z","resources":["arn:aws:events:a:1:rule/rated"]}`, "from the rule's creation"},
		"the built-in job, stateless":   {`{"jobId":"purge-expired-keys","scheduledAt":"2000-01-01T00:00:00Z"}`, "works on the ledger"},
		"a tick, stateless":             {`{"tick":true}`, "CRONCE_DATABASE_URL"},
		"a tick that is false":          {`{"tick":false}`, `a tick is {"tick":true}`},
		"a tick that is something else": {`{"tick":true,"jobId":"hourly"}`, `a tick is {"tick":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, c := newTestHandler(t, fresh, jobs.Job{ID: "hourly", Schedule: "0 * * * *"}, jobs.Job{ID: "rated", Schedule: "rate(1 hour)"},
					jobs.Job{ID: "off", Schedule: "0 * * * *", Disabled: true})
				out, err := h.Invoke(t.Context(), []byte(tc.payload))
				if err == nil || !strings.Contains(err.Error(), tc.want) || len(c.calls) > 0 {
					t.Errorf("answer %s, error %v, %d calls; want %q", out, err, len(c.calls), tc.want)
				}
			})
		})
	}
}

// Stateless, every delivery of an event has the same last moment to be sent.
func TestStatelessSendBeforeIsCountedFromTheScheduledTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newTestHandler(t, fresh, jobs.Job{ID: "hourly", Schedule: "0 * * * *", Retry: jobs.Retry{Horizon: 2 * time.Hour}})
		at := time.Now().UTC()
		payload := []byte(`{"jobId":"hourly","scheduledAt":"2000-01-01T00:00:00Z"}`)
		for range 3 {
			time.Sleep(30 * time.Minute)
			if _, err := h.Invoke(t.Context(), payload); err != nil {
				t.Fatal(err)
			}
		}
		for _, call := range c.calls {
			if !call.SendBefore.Equal(at.Add(2 * time.Hour)) {
				t.Errorf("send before %s", call.SendBefore)
			}
		}
		time.Sleep(time.Hour)
		if _, err := h.Invoke(t.Context(), payload); err == nil || len(c.calls) != 3 {
			t.Errorf("sent past its last moment: %v", err)
		}
	})
}

// Stateless, what says no time has its last moment counted from a delivery, and
// the platform may have delivered it before: its ages are taken off, and where
// they leave nothing, it is refused.
func TestStatelessWorkThatSaysNoTimeLeavesThePlatformItsAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newTestHandler(t, fresh, jobs.Job{ID: "long", Schedule: "0 * * * *", Retry: jobs.Retry{Horizon: 10 * time.Hour}},
			jobs.Job{ID: "short", Schedule: "0 * * * *", Retry: jobs.Retry{Horizon: 90 * time.Minute}})
		if _, err := h.Invoke(t.Context(), []byte(`{"jobId":"long","id":"x"}`)); err != nil || len(c.calls) != 1 {
			t.Fatalf("%v, %d calls", err, len(c.calls))
		}
		if left := time.Until(c.calls[0].SendBefore); left != 8*time.Hour {
			t.Errorf("may be sent for another %s", left)
		}
		if _, err := h.Invoke(t.Context(), []byte(`{"jobId":"short","id":"x"}`)); err == nil || !strings.Contains(err.Error(), "contains no time") || len(c.calls) != 1 {
			t.Errorf("%v, %d calls", err, len(c.calls))
		}
	})
}

// What is final and stands in no ledger is a failure to the platform, which
// puts the event aside.
func TestADeadRunIsAnErrorOnlyWithoutALedger(t *testing.T) {
	refused := executor.Answer{Kind: ledger.AnswerRefused, Status: 400}
	job := jobs.Job{ID: "minutely", Schedule: "* * * * *"}
	payload := []byte(`{"jobId":"minutely","scheduledAt":"` + minute().Format(time.RFC3339) + `"}`)
	h, _ := newTestHandler(t, refused, job)
	if out, err := h.Invoke(t.Context(), payload); err == nil || !strings.Contains(err.Error(), "dead (permanent)") {
		t.Errorf("stateless: %s, %v", out, err)
	}
	url := testdb.Postgres(t)
	l := migrated(t, url)
	h, c := newTestHandler(t, refused, job)
	h.ledger = &database{url: url}
	t.Cleanup(func() { _ = h.ledger.opened.Close() })
	for range 2 {
		if out, err := h.Invoke(t.Context(), payload); err != nil || !strings.Contains(string(out), `"state":"dead","reason":"permanent"`) {
			t.Errorf("with a ledger: %s, %v", out, err)
		}
	}
	if runs := mustRuns(t, l, ledger.Filter{}); len(runs) != 1 || runs[0].State != ledger.Dead || len(c.calls) != 1 {
		t.Errorf("runs %+v, %d calls", runs, len(c.calls))
	}
}

func releaseLike(job string) string {
	return `{"jobId":"` + job + `","scheduledAt":"` + minute().Format(time.RFC3339) + `"}`
}

// What follows a failure in a FIFO queue waits for it.
func TestAFIFOBatchStopsAtItsFirstFailure(t *testing.T) {
	h, c := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *"})
	record := func(id, body string) string {
		return `{"messageId":"` + id + `","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:a:1:q.fifo","body":"` + strings.ReplaceAll(body, `"`, `\"`) + `"}`
	}
	good := releaseLike("minutely")
	out, err := h.Invoke(t.Context(), []byte(`{"Records":[`+record("a", good)+","+record("b", "x")+","+record("c", good)+`]}`))
	if err != nil || string(out) != `{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"c"}]}` || len(c.calls) != 1 {
		t.Errorf("%s, %v, %d calls", out, err, len(c.calls))
	}
}

func FuzzInvoke(f *testing.F) {
	f.Add([]byte(`{"jobId":"hourly","scheduledAt":"2000-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"Records":[{"messageId":"m","eventSource":"aws:sqs","body":"{}"}]}`))
	f.Add([]byte(`{"id":"e","detail-type":"x","time":"2000-01-01T00:00:00Z","resources":["arn:aws:events:a:1:rule/hourly"]}`))
	f.Add([]byte(`{"jobId":"hourly","id":"x"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		h, c := newTestHandler(t, fresh, jobs.Job{ID: "hourly", Schedule: "0 * * * *"})
		_, _ = h.Invoke(t.Context(), payload)
		for _, call := range c.calls {
			if _, _, _, err := jobs.ParseRunID(call.RunID); err != nil {
				t.Errorf("called under %q: %v", call.RunID, err)
			}
		}
	})
}
