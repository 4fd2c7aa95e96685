package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
)

// destinationRecord is what Lambda sends to a destination for an event that
// failed ("Adding a destination" in AWS's Lambda Developer Guide).
func destinationRecord(payload string) string {
	return fmt.Sprintf(`{"version":"1.0","timestamp":"2026-11-21T03:05:00.123Z",
		"requestContext":{"requestId":"e4b46cbf-b738-4a05-9b15-6ac1b8d2a4b5","functionArn":"arn:aws:lambda:eu-west-1:123456789012:function:f:$LATEST",
			"condition":"RetriesExhausted","approximateInvokeCount":3},
		"requestPayload":%s,
		"responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":"Unhandled"},
		"responsePayload":{"errorMessage":"x","errorType":"cronce.Unfinished"}}`, payload)
}

// scheduledInvoke is the request that Scheduler gave up.
func scheduledInvoke(payload string) string {
	text, _ := json.Marshal(payload)
	return fmt.Sprintf(`{"FunctionName":"arn:aws:lambda:eu-west-1:123456789012:function:f","InvocationType":"Event","Payload":%s}`, text)
}

func deadLetters(bodies ...string) string {
	var records []string
	for i, body := range bodies {
		text, _ := json.Marshal(body)
		records = append(records, fmt.Sprintf(`{"messageId":"m-%d","body":%s,"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:dead"}`, i, text))
	}
	return `{"Records":[` + strings.Join(records, ",") + `]}`
}

// An operator turns the dead-letter queue back on the function: each message
// asks for the run that its event asked for.
func TestDeadLettersAreEvents(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg, at := newTarget(t), minute()
		fn := tg.function(registryFile(t, releaseJob), db)
		event := releaseEvent(at)
		placeholder := `{"jobId":"release","scheduledAt":"<aws.scheduler.scheduled-time>"}`
		bodies := []string{
			event, destinationRecord(event), scheduledInvoke(event), destinationRecord(destinationRecord(event)),
			`{"FunctionName":"f","Payload":` + event + `}`,
		}
		for _, body := range bodies {
			succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r", Payload: body}), releaseRun(at))
		}
		batch := deadLetters(append(bodies, scheduledInvoke(placeholder), `{"requestContext":{},"requestPayload":7}`)...)
		attribute := fmt.Sprintf(`"messageId":"m-5","messageAttributes":{"SCHEDULED_TIME":{"stringValue":%q,"dataType":"String"}},`, at.Format("2006-01-02T15:04:05Z"))
		batch = strings.Replace(batch, `"messageId":"m-5",`, attribute, 1)
		out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: batch})
		if string(out.Response) != `{"batchItemFailures":[{"itemIdentifier":"m-6"}]}` {
			t.Errorf("answer %s, error %+v", out.Response, out.Error)
		}
		tg.wantEffects(releaseRun(at))
	})
}

// A tick that failed lies among the dead letters too.
func TestATickAmongDeadLettersIsATick(t *testing.T) {
	db := testdb.Postgres(t)
	migrated(t, db)
	fn := newTarget(t).function(registryFile(t, strings.Replace(releaseJob, `"* * * * *"`, `"0 0 1 1 *"`, 1)), db)
	out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: deadLetters(destinationRecord(`{"tick":true}`))})
	if string(out.Response) != `{"batchItemFailures":[]}` {
		t.Errorf("answer %s, error %+v", out.Response, out.Error)
	}
}

// An envelope adds nothing: it is the event's run, or an error as before.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"jobId":"hourly","scheduledAt":"2026-11-21T03:00:00Z"}`))
	f.Add([]byte(`{"requestContext":{},"requestPayload":{"jobId":"hourly","id":"x"}}`))
	f.Add([]byte(`{"FunctionName":"f","Payload":"{\"tick\":true}"}`))
	f.Add([]byte(`7`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if !json.Valid(payload) {
			return
		}
		plain, err := parseShape(payload)
		if err != nil || plain.wrapped() != nil {
			return
		}
		want, wantErr := plain.event()
		for _, wrapped := range []string{destinationRecord(string(payload)), scheduledInvoke(string(payload))} {
			s, err := unwrapped([]byte(wrapped))
			if err != nil {
				t.Fatal(err)
			}
			got, gotErr := s.event()
			if got != want || (gotErr == nil) != (wantErr == nil) {
				t.Fatalf("%s: %+v, %v; wrapped: %+v, %v", payload, want, wantErr, got, gotErr)
			}
		}
	})
}
