package jobs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs/internal/field"
)

// Channel is a receiver of notifications. Its type determines which fields it needs.
type Channel struct {
	Name string // [a-z0-9][a-z0-9._-]{0,47}
	Type ChannelType
	// URLEnv is the variable that holds the address of the webhook, of Slack's incoming
	// webhook, or of Alertmanager. PagerDuty has a default. Email has none.
	URLEnv string
	Key    Secret   // PagerDuty: the integration key
	Secret Secret   // webhook: the signing secret; none: not signed
	SMTP   Secret   // email: smtp://user:password@host:587 or smtps://user:password@host:465
	From   string   // email: the sender; default cronce@ and the name of this machine
	To     []string // email: the recipients
	// Jobs selects incidents by job: IDs, or patterns with * and ?; none: every job.
	Jobs []string
	// Owners and Labels select incidents by their job: one of the owners, and all of the
	// labels; none: every job.
	Owners []string
	Labels map[string]string
	// On selects incidents by cause: dead, missed, late, unplanned, overdue, expiry; none: every
	// cause.
	On []string
	// After is the number of problems that an incident must have before its first
	// notification; default 1.
	After int
	// Remind is how often the notification of an open incident is repeated, at least
	// 1m; 0: never.
	Remind time.Duration
}

// ChannelType is a kind of channel.
type ChannelType string

const (
	ChannelWebhook      ChannelType = "webhook" // CloudEvents, signed as Standard Webhooks
	ChannelSlack        ChannelType = "slack"
	ChannelPagerDuty    ChannelType = "pagerduty"    // Events API v2
	ChannelAlertmanager ChannelType = "alertmanager" // API v2
	ChannelEmail        ChannelType = "email"
)

// channelTypes says what each type of channel takes of the fields that not all have. Package notify
// renders the notifications of each.
var channelTypes = []channelType{
	{name: ChannelWebhook, needs: []string{"urlEnv"}, may: "secret"},
	{name: ChannelSlack, needs: []string{"urlEnv"}, groups: true},
	{name: ChannelPagerDuty, needs: []string{"key"}, may: "urlEnv"},
	{name: ChannelAlertmanager, needs: []string{"urlEnv"}, groups: true},
	{name: ChannelEmail, needs: []string{"smtp", "to"}, may: "from", groups: true},
}

type channelType struct {
	name   ChannelType
	needs  []string // fields that it requires
	may    string   // the field that it can have
	groups bool     // one message may be of many incidents; events are of one each
}

// kind returns the row of the channel's type; without a name, if it is unknown.
func (c *Channel) kind() *channelType {
	for i := range channelTypes {
		if channelTypes[i].name == c.Type {
			return &channelTypes[i]
		}
	}
	return &channelType{}
}

// ChannelTypes lists the types of channels.
func ChannelTypes() (names []ChannelType) {
	for i := range channelTypes {
		names = append(names, channelTypes[i].name)
	}
	return names
}

// Groups reports whether a message to the channel may be of many incidents.
func (c *Channel) Groups() bool { return c.kind().groups }

func (c Channel) enter(d *draft) { d.channels = append(d.channels, c) }

// channelPrefix begins the names of channels' targets; a declared target has no colon.
const channelPrefix = "notify:"

// pagerDutyURL is the address of events whose channel names no variable.
const pagerDutyURL = "https://events.pagerduty.com"

// JobID returns the ID of the job whose runs are the channel's notifications.
func (c Channel) JobID() string { return "notify-" + c.Name }

// Target returns the name of the target that notifications are sent to.
func (c Channel) Target() string { return channelPrefix + c.Name }

// Selects reports whether the channel receives notifications of incidents of a job with
// a cause. A channel never receives those about its own notifications. Of a job that the
// registry does not have, only the ID is known.
func (c Channel) Selects(j Job, cause string) bool {
	switch {
	case j.ID == c.JobID(), len(c.On) > 0 && !slices.Contains(c.On, cause), len(c.Owners) > 0 && !slices.Contains(c.Owners, j.Owner):
		return false
	}
	for name, value := range c.Labels {
		if has, ok := j.Labels[name]; !ok || has != value {
			return false
		}
	}
	return len(c.Jobs) == 0 || slices.ContainsFunc(c.Jobs, func(pattern string) bool { return matches(pattern, j.ID) })
}

// matches reports whether an ID matches a pattern that checkSelection takes, in which *
// stands for any characters and ? for one.
func matches(pattern, id string) bool {
	matched, err := path.Match(pattern, id)
	return matched && err == nil
}

// asTarget returns what the channel's notifications are sent to; an email is not sent over
// HTTP.
func (c Channel) asTarget() Target {
	t := Target{Name: c.Target(), URLEnv: c.URLEnv, Auth: Auth{Type: AuthNone}}
	switch {
	case c.Type == ChannelWebhook && c.Secret != Secret{}:
		t.Auth = Auth{Type: AuthHMAC, Secret: c.Secret}
	case c.Type == ChannelPagerDuty:
		t.Auth = Auth{Type: AuthRoutingKey, RoutingKey: c.Key}
		if c.URLEnv == "" {
			t.URL = pagerDutyURL
		}
	}
	return t
}

// causes lists the causes of incidents that a channel can select.
var causes = []string{"dead", "missed", "late", "unplanned", "overdue", "expiry"}

func (d *draft) checkChannels() []Channel {
	seen := map[string]bool{}
	for i := range d.channels {
		c := &d.channels[i]
		at := fmt.Sprintf("notifications[%d]", i)
		field.Object(c).Check(d.Report, at)
		d.checkEntryName(at+".name", "channel", c.Name)
		if len(c.Name) > 48 {
			d.Add(at+".name", codeBadName, "the channel name %s is too long; the maximum is 48 characters", field.Quoted(c.Name))
		}
		if seen[c.Name] {
			d.Add(at+".name", codeDuplicateName, "duplicate channel %q; rename one", c.Name)
		}
		seen[c.Name] = true
		if slices.ContainsFunc(d.jobs, func(j registered) bool { return j.ID == c.JobID() }) {
			d.Add(at+".name", codeDuplicateID,
				"the channel's notifications are runs of the job %q, which the registry has too; rename one", c.JobID())
		}
		d.checkChannelFields(at, c)
		d.checkSelection(at, *c)
		setDefault(&c.After, 1)
		if c.Type != ChannelEmail {
			d.declared[c.Target()] = c.asTarget()
		}
	}
	return d.channels
}

// checkChannelFields requires what the type needs, and refuses what it has no use for.
func (d *draft) checkChannelFields(at string, c *Channel) {
	kind := c.kind()
	check := func(field string, set bool, what string) {
		needed := slices.Contains(kind.needs, field)
		switch {
		case set && !needed && kind.may != field && kind.name != "":
			d.Add(at+"."+field, codeNeedlessField, "%s has no meaning for type: %s; remove it or change the type", field, c.Type)
		case !set && needed:
			d.Add(at+"."+field, codeMissingField, "%s is missing; set it to %s", field, what)
		}
	}
	check("urlEnv", c.URLEnv != "", "the name of the variable that holds the address")
	check("key", c.Key != Secret{}, "where the integration key is, e.g. { env: PD_KEY }")
	check("secret", c.Secret != Secret{}, "")
	check("smtp", c.SMTP != Secret{}, "where the server's address is, e.g. { env: SMTP_URL } with smtp://user:password@host:587")
	check("to", len(c.To) > 0, "the addresses, e.g. [ops@example.com]")
	check("from", c.From != "", "")
	if c.URLEnv != "" && c.Type != ChannelEmail {
		d.checkVariable(at+".urlEnv", "urlEnv", c.URLEnv, "the variable that holds the address")
	}
	for _, f := range c.secrets() {
		if f.secret != (Secret{}) {
			d.checkSecret(at+"."+f.name, f)
		}
	}
	for i, address := range c.To {
		if !plainAddress(address) {
			d.Add(fmt.Sprintf("%s.to[%d]", at, i), CodeBadValue,
				"invalid address %s; use a plain one such as ops@example.com", field.Quoted(address))
		}
	}
	if c.From != "" && !plainAddress(c.From) {
		d.Add(at+".from", CodeBadValue, "invalid address %s; use a plain one such as cronce@example.com", field.Quoted(c.From))
	}
}

func (c Channel) secrets() []authField {
	return []authField{
		{name: "key", holds: "the integration key", secret: c.Key, of: AuthRoutingKey, optional: true},
		{name: "secret", holds: "the secret that signs", secret: c.Secret, of: AuthHMAC, optional: true},
		{name: "smtp", holds: "the server's address", secret: c.SMTP, of: AuthNone, optional: true},
	}
}

// plainAddress reports whether s is a mail address without a name: visible ASCII around one @.
func plainAddress(s string) bool {
	local, domain, found := strings.Cut(s, "@")
	return found && local != "" && domain != "" && len(s) <= 254 && plaintext.VisibleASCII(s) && !strings.ContainsAny(s, `<>(),;:"\[]`) &&
		!strings.Contains(domain, "@")
}

func (d *draft) checkSelection(at string, c Channel) {
	for i, pattern := range c.Jobs {
		if pattern == "" || !plaintext.VisibleASCII(pattern) || strings.ContainsAny(pattern, `[]\^`) {
			d.Add(fmt.Sprintf("%s.jobs[%d]", at, i), CodeBadValue,
				"invalid pattern %s; use a job's ID, in which * stands for any characters and ? for one", field.Quoted(pattern))
		}
	}
	checkLabels(d.Report, at+".labels", c.Labels)
	for i, owner := range c.Owners {
		checkLine(d.Report, fmt.Sprintf("%s.owners[%d]", at, i), owner, maxOwner)
	}
	for i, cause := range c.On {
		field.OneOf(d.Report, fmt.Sprintf("%s.on[%d]", at, i), "cause", cause, causes...)
	}
}

// Channels returns the receivers of notifications, in the order of declaration.
func (r *Registry) Channels() []Channel { return slices.Clone(r.channels) }

// Channel returns the channel with a name.
func (r *Registry) Channel(name string) (Channel, bool) {
	for _, c := range r.channels {
		if c.Name == name {
			return c, true
		}
	}
	return Channel{}, false
}

// ChannelProblem returns a Problem about a field of the channel at index i of Channels.
// It has the code of err if that is a Problem, or else CodeBadSecret.
func (r *Registry) ChannelProblem(i int, field string, err error) Problem {
	found := newReport(r.file, r.places)
	code := CodeBadSecret
	var p Problem
	if errors.As(err, &p) {
		code, err = p.Code, errors.New(p.Message)
	}
	found.Add(fmt.Sprintf("notifications[%d].%s", i, field), code, "%s", err)
	return found.found()[0]
}
