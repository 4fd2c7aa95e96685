package notify_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

// What each channel is sent for a problem and for its end; UPDATE_GOLDEN=1 rewrites it.
func TestWhatEachChannelIsSent(t *testing.T) {
	open := ledger.Incident{
		ID: 12, JobID: "close-books", Cause: ledger.IncidentDead, Reason: ledger.ReasonExhausted, Error: "books POST /close: HTTP 503 <b>&`x`", Count: 3,
		RunID: "close-books@2026-11-22T10:00:00Z", OpenedAt: begin, LastAt: begin.Add(time.Minute),
	}
	closed := open
	closed.ClosedAt, closed.ClosedBy = begin.Add(time.Hour), "close-books@2026-11-22T11:00:00Z"
	for _, kind := range jobs.ChannelTypes() {
		c := jobs.Channel{Name: "ops", Type: kind}
		switch kind {
		case jobs.ChannelAlertmanager:
			c.Remind = time.Hour
		case jobs.ChannelEmail:
			c.To = []string{"ops@example.com"}
		}
		var got strings.Builder
		for event, i := range map[notify.Event]ledger.Incident{notify.Opened: open, notify.Recovered: closed} {
			m := notify.NewMessage("acme", "https://cronce.example.com/", event, i, begin.Add(time.Minute))
			m.Owner = "<!channel> Billing & *friends*"
			call, err := notify.NewCall(m, c, "run-id-"+string(event))
			if err != nil {
				t.Fatal(err)
			}
			var body any
			if err := json.Unmarshal(call.Body, &body); err != nil {
				t.Fatal(err)
			}
			pretty, _ := json.MarshalIndent(body, "", "  ")
			text := string(event) + " " + call.Method + " " + call.Target + " " + call.Path + " " + call.ContentType + "\n" + string(pretty) + "\n"
			if event == notify.Opened {
				rest := got.String()
				got.Reset()
				got.WriteString(text + rest)
			} else {
				got.WriteString(text)
			}
		}
		file := filepath.Join("testdata", string(c.Type)+".golden")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || got.String() != string(want) {
			t.Errorf("differs from %s (%v):\n%s", file, err, got.String())
		}
	}
}

// A test is of no incident and no run, so it names no command that shows one.
func TestATestNamesNoCommand(t *testing.T) {
	for _, kind := range []jobs.ChannelType{jobs.ChannelWebhook, jobs.ChannelSlack, jobs.ChannelPagerDuty, jobs.ChannelAlertmanager, jobs.ChannelEmail} {
		c := jobs.Channel{Name: "ops", Type: kind, To: []string{"ops@example.com"}}
		call, err := notify.NewCall(notify.NewTestMessage("acme", "", c, begin), c, "id")
		if err != nil || !strings.Contains(string(call.Body), "test") || strings.Contains(string(call.Body), "command") {
			t.Errorf("%s: %v, %s", kind, err, call.Body)
		}
	}
}

// A notification outlasts an outage of its receiver of nearly an hour, and is given up
// before its send-before time.
func TestANotificationIsRetriedForAnHour(t *testing.T) {
	c := jobs.Channel{Name: "ops", Type: jobs.ChannelWebhook}
	call, err := notify.NewCall(notify.NewTestMessage("acme", "", c, begin), c, "id")
	if err != nil {
		t.Fatal(err)
	}
	var waits time.Duration
	for _, wait := range call.Backoff {
		waits += wait
	}
	if waits < 55*time.Minute {
		t.Errorf("the waits are %s together, want 55m or more", waits)
	}
	if first := call.Backoff[0]; first > time.Second {
		t.Errorf("the first retry follows after %s, want 1s at most", first)
	}
	longest := time.Duration(float64(waits)*(1+call.Jitter)) + time.Duration(len(call.Backoff)+1)*call.Timeout
	if longest > call.Horizon {
		t.Errorf("the last retry may end after %s, past the horizon of %s", longest, call.Horizon)
	}
	if call.Jitter <= 0 || call.MaxRetryAfter < time.Minute || call.MaxRetryAfter > call.Horizon {
		t.Errorf("jitter %v, maxRetryAfter %s", call.Jitter, call.MaxRetryAfter)
	}
}
