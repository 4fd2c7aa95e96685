package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// request is a notification in the form that a channel's receiver takes.
type request struct {
	path, contentType string
	body              any
}

// render writes the message in the form of the channel. id names the notification. A type without
// a form has a request without a body.
func render(m Message, c jobs.Channel, id string) request {
	switch c.Type {
	case jobs.ChannelWebhook:
		return request{contentType: "application/cloudevents+json", body: cloudEvent(m, id)}
	case jobs.ChannelSlack:
		return request{body: slack(m)}
	case jobs.ChannelPagerDuty:
		return request{path: "/v2/enqueue", body: pagerDuty(m)}
	case jobs.ChannelAlertmanager:
		return request{path: "/api/v2/alerts", body: alerts(m, c)}
	case jobs.ChannelEmail:
		return request{body: Email{From: c.From, To: c.To, Subject: m.title(), Text: m.text(), Thread: m.key()}}
	}
	return request{}
}

// Email is the body of a notification by email.
type Email struct {
	From    string   `json:"from"`
	To      []string `json:"to"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
	Thread  string   `json:"thread"` // joins the messages of one incident
}

// cloudEvent renders a message as
// https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md.
func cloudEvent(m Message, id string) any {
	i := m.Incident
	data := map[string]any{
		"registry": m.Registry, "incident": i.ID, "key": m.key(), "jobId": i.JobID, "cause": i.Cause, "count": i.Count,
		"openedAt": i.OpenedAt.UTC().Format(time.RFC3339), "title": m.title(), "text": m.text(), "flapping": flapping(i),
	}
	for name, value := range map[string]string{"reason": string(i.Reason), "error": i.Error, "runId": i.RunID, "link": m.Link,
		"owner": m.Owner, "command": m.command()} {
		if value != "" {
			data[name] = value
		}
	}
	if !i.Open() {
		data["closedAt"] = i.ClosedAt.UTC().Format(time.RFC3339)
	}
	return map[string]any{
		"specversion": "1.0", "id": id, "source": "/cronce/" + m.Registry, "type": "cronce.incident." + string(m.Event), "subject": i.JobID,
		"time": m.At.UTC().Format(time.RFC3339), "datacontenttype": "application/json", "data": data,
	}
}

// slack renders a message for https://api.slack.com/messaging/webhooks: text, in which &, < and >
// are escaped.
func slack(m Message) any {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	sign := ":red_circle: "
	if m.Event == Recovered {
		sign = ":large_green_circle: "
	}
	var b strings.Builder
	b.WriteString(sign + "*" + escape.Replace(m.title()) + "*")
	for _, l := range m.lines() {
		value := escape.Replace(l.Value)
		switch l.Name {
		case "dashboard":
			value = "<" + value + ">"
		case "command", "last error", "last run":
			value = "`" + strings.ReplaceAll(value, "`", "'") + "`"
		}
		b.WriteString("\n" + l.Name + ": " + value)
	}
	return map[string]string{"text": b.String()}
}

// pagerDuty renders a message for the Events API v2,
// https://developer.pagerduty.com/docs/events-api-v2. The call adds the routing key.
func pagerDuty(m Message) any {
	if m.Event == Recovered {
		return map[string]any{"event_action": "resolve", "dedup_key": m.key()}
	}
	details := map[string]string{}
	for _, l := range m.lines() {
		details[l.Name] = l.Value
	}
	event := map[string]any{
		"event_action": "trigger", "dedup_key": m.key(), "client": "cronce",
		"payload": map[string]any{
			"summary": cut(m.title(), 1024), "source": m.Registry, "severity": "error", "component": m.Incident.JobID, "class": m.Incident.Cause,
			"timestamp": m.Incident.LastAt.UTC().Format(time.RFC3339), "custom_details": details,
		},
	}
	if m.Link != "" {
		event["client_url"] = m.Link
		event["links"] = []any{map[string]string{"href": m.Link, "text": "dashboard"}}
	}
	return event
}

// alerts renders one alert for each incident.
func alerts(m Message, c jobs.Channel) []any {
	others := m.Others
	m.Others = nil
	list := []any{alert(m, c)}
	for _, o := range others {
		list = append(list, alert(o, c))
	}
	return list
}

// alert renders an alert of Alertmanager's API v2. The labels identify the incident. Alertmanager
// forgets an alert that ends, so an open one ends after the next reminder, or far away.
func alert(m Message, c jobs.Channel) any {
	ends := m.At.AddDate(1, 0, 0)
	switch {
	case m.Event == Recovered:
		ends = m.Incident.ClosedAt
	case c.Remind > 0:
		ends = m.At.Add(2 * c.Remind)
	}
	a := map[string]any{
		"labels": map[string]string{
			"alertname": "CronceIncident", "registry": m.Registry, "job_id": m.Incident.JobID,
			"cause": string(m.Incident.Cause), "incident": fmt.Sprint(m.Incident.ID),
		},
		"annotations": map[string]string{"summary": m.title(), "description": m.text()},
		"startsAt":    m.Incident.OpenedAt.UTC().Format(time.RFC3339Nano), "endsAt": ends.UTC().Format(time.RFC3339Nano),
	}
	if m.Link != "" {
		a["generatorURL"] = m.Link
	}
	return a
}

func cut(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// Retries of a notification: the default list, continued for an hour.
var backoff = []time.Duration{
	500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 15 * time.Minute,
}

const (
	timeout = 30 * time.Second
	horizon = 4 * time.Hour
	// arriveWithin is the time that a notification may take until its channel has an incident.
	arriveWithin = 5 * time.Minute
)

// NewCall returns the call that delivers a message to a channel, to be stored in the
// notification's run. id is the ID of that run.
func NewCall(m Message, c jobs.Channel, id string) (ledger.CallSpec, error) {
	r := render(m, c, id)
	if r.body == nil {
		return ledger.CallSpec{}, fmt.Errorf("channel %s: type %s has no form of a notification", c.Name, c.Type)
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.body); err != nil {
		return ledger.CallSpec{}, fmt.Errorf("write the notification for channel %s: %w", c.Name, err)
	}
	return ledger.CallSpec{
		Target: c.Target(), Method: "POST", Path: r.path, Body: bytes.TrimSpace(body.Bytes()), ContentType: r.contentType,
		Timeout: timeout, Backoff: backoff, Jitter: 0.2, MaxRetryAfter: 15 * time.Minute, Horizon: horizon, FinishWithin: arriveWithin,
	}, nil
}
