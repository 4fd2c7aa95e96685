package notify

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

// Message is the content of a notification, for any type of channel.
type Message struct {
	Registry string
	Event    Event
	Incident ledger.Incident
	At       time.Time
	Link     string // to the job or run on the dashboard; "" if its address is not known
	Home     string // the dashboard; "" if its address is not known
	Owner    string // of the job; "" if it has none
	// Others are further incidents of the same cause that the notification tells of.
	Others []Message
}

// NewMessage returns the message of an event of an incident. registry is the registry's
// name; publicURL is the dashboard's, or "".
func NewMessage(registry, publicURL string, event Event, i ledger.Incident, now time.Time) Message {
	i.Error, i.ClosedBy = plaintext.Line(i.Error), plaintext.Line(i.ClosedBy)
	m := Message{Registry: registry, Event: event, Incident: i, At: now}
	if publicURL != "" {
		m.Home = strings.TrimSuffix(publicURL, "/") + "/"
		m.Link = m.Home + "jobs/" + url.PathEscape(i.JobID)
		if i.RunID != "" && !strings.Contains(i.RunID, "/") {
			m.Link = m.Home + "runs/" + url.PathEscape(i.RunID)
		}
	}
	return m
}

// title returns one line: which job, or how many, and what is wrong.
func (m Message) title() string {
	i, about, state := m.Incident, m.Incident.JobID, ""
	if len(m.Others) > 0 {
		about = fmt.Sprintf("%d jobs", 1+len(m.Others))
		if slices.ContainsFunc(m.Others, func(o Message) bool { return o.Incident.Reason != i.Reason }) {
			i.Reason = ""
		}
	}
	switch {
	case m.Event == Recovered && i.ClosedByOperator && len(m.Others) == 0:
		state = "closed by " + i.ClosedBy + ": "
	case m.Event == Recovered:
		state = "recovered: "
	case flapping(i):
		state = "flapping: "
	case m.Event == Reminded:
		state = "still "
	}
	return fmt.Sprintf("[%s] %s: %s%s", m.Registry, about, state, i.Problem())
}

// line is one fact of a message, such as the job or the last error.
type line struct{ Name, Value string }

// lines returns the facts, and what to do next.
func (m Message) lines() (lines []line) {
	i := m.Incident
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, line{name, value})
		}
	}
	if len(m.Others) > 0 {
		m.addGroup(add)
		return lines
	}
	add("owner", m.Owner)
	add("since", i.OpenedAt.UTC().Format(time.RFC3339))
	add("problems", fmt.Sprint(i.Count))
	add("last run", i.RunID)
	add("last error", i.Error)
	if !i.Open() {
		add("closed at", i.ClosedAt.UTC().Format(time.RFC3339))
		add("closed by", i.ClosedBy)
	}
	add("dashboard", m.Link)
	add("command", m.command())
	return lines
}

// command shows the problem on the command line; a test has none.
func (m Message) command() string {
	switch i := m.Incident; {
	case i.RunID != "":
		return "cronce runs show " + i.RunID
	case i.ID > 0:
		return fmt.Sprintf("cronce incidents show %d", i.ID)
	}
	return ""
}

// text returns the whole message as plain text.
func (m Message) text() string {
	var b strings.Builder
	b.WriteString(m.title() + "\n\n")
	for _, l := range m.lines() {
		fmt.Fprintf(&b, "%s: %s\n", l.Name, l.Value)
	}
	if m.Incident.Open() && m.Incident.ID > 0 && len(m.Others) == 0 {
		fmt.Fprintf(&b, "\nTo silence it: cronce incidents ack %d --why \"...\"\n", m.Incident.ID)
	}
	return b.String()
}

// key returns the name under which a receiver groups the events of the incident. It
// is the same for all of its events, and differs from that of every other incident
// of any registry.
func (m Message) key() string {
	return fmt.Sprintf("cronce/%s/%s/%s/%d", m.Registry, m.Incident.JobID, m.Incident.Cause, m.Incident.ID)
}
