package jobs

import (
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
)

// These are the tables of the fields of the registry file, but for those of a job and of
// auth.

// document is the whole file. Its entries go to the draft, under the same paths.
type document struct {
	*draft
	name string
}

func (doc *document) Fields() []field.Row {
	return []field.Row{
		field.Of("version", field.Version(), "Version of the file's format; always 1."),
		field.Of("name", field.Required(field.Text(&doc.name)),
			"Identifies the caller to targets (the principal of keys). Never change it: every key would be new."),
		field.Of("targets", field.ByName(func() field.Fielded { return new(Target) }, doc.target),
			"Services that jobs call, by name."),
		field.Of("jobs", field.Each(func() field.Fielded { return new(fileJob) }, doc.entry), "The jobs, which are scheduled calls."),
		field.Of("keyTTLs", field.Each(func() field.Fielded { return new(KeyTTL) }, doc.entry),
			"How long targets keep idempotency keys, to check jobs; set the same TTL in the target. The exact scope wins, then "+
				"the longest prefix; default 24h."),
		field.Of("platform", field.Single(func() field.Fielded { return new(Platform) }, doc.entry),
			"How late AWS may deliver an event to a Lambda."),
		field.Of("keyStores", field.Each(func() field.Fielded { return new(KeyStore) }, doc.entry),
			"Databases whose expired keys the nightly purge removes."),
		field.Of("cleanup", field.Single(func() field.Fielded { return new(fileCleanup) }, doc.entry),
			"The nightly purge of expired keys and old runs."),
		field.Of("defaults", field.Single(func() field.Fielded { return new(Defaults) }, doc.entry),
			"Values for jobs that do not set their own."),
		field.Of("alarm", field.Single(func() field.Fielded { return new(Alarm) }, doc.entry),
			"When a run counts as late, for jobs that do not set it; default: never."),
		field.Of("notifications", field.Each(func() field.Fielded { return new(Channel) }, doc.entry),
			"Where notifications of incidents are sent; see notifications.md."),
		field.Of("heartbeat", field.Single(func() field.Fielded { return new(Heartbeat) }, doc.entry),
			"An address that is requested while planning is on time; see notifications.md."),
	}
}

func (doc *document) entry(of field.Fielded) { of.(Entry).enter(doc.draft) }

func (doc *document) target(name string, of field.Fielded) {
	of.(*Target).Name = name
	doc.entry(of)
}

// Fields returns the fields that the registry file has for it.
func (t *Target) Fields() []field.Row {
	return []field.Row{
		field.Of("urlEnv", field.Required(field.Text(&t.URLEnv)), "The environment variable with the base URL."),
		field.Of("auth", field.Object(&t.Auth), "How calls are authorized; default none."),
		field.Of("tls", field.Object(&t.TLS), "Certificates; default: the authorities of the system, and no client certificate."),
		field.Of("allowHTTP", field.Bool(&t.AllowHTTP),
			"Allow plain http to another machine, but not to a token endpoint; default false."),
		field.Of("maxInFlight", field.Count(&t.MaxInFlight, 0),
			"Maximum calls to this target at a time, in each process; default: 7/8 of --max-in-flight, fewer while other targets are busy."),
		field.Of("keepAnswers", field.Period(&t.KeepAnswers, 0, maxKept),
			"How long to keep what a failing answer says: title and detail of a problem document, else its first 1 KiB. At most "+
				"2160h. Default: never kept."),
		field.Of("key", field.Object(&t.Key), "How the target takes idempotency keys; default: the run ID in Idempotency-Key."),
	}
}

// Fields returns the fields that the registry file has for it.
func (k *Key) Fields() []field.Row {
	return []field.Row{
		field.Of("header", field.Text(&k.Header), "Header field of the key; default Idempotency-Key."),
		field.Of("form", field.Word((*string)(&k.Form), keyForms...), "Form of the key; default runId."),
		field.Of("max", field.Count(&k.Max, 0),
			"The longest key that the target takes, in characters; longer ones are refused. Default: no limit."),
		field.Of("lifetime", field.Text(&k.Lifetime),
			"Path at which the target says how long it keeps keys, for check --live; default "+
				"/.well-known/idempotency-key-lifetime."),
	}
}

// Fields returns the fields that the registry file has for it.
func (t *TLS) Fields() []field.Row {
	return []field.Row{
		field.Of("ca", field.Shared(&t.CA), "CA certificates (PEM) for the target's certificate, instead of the system's."),
		field.Of("cert", field.Shared(&t.Cert), "The client's certificate (PEM), followed by its intermediate certificates."),
		field.Of("key", field.Shared(&t.Key), "The client's private key (PEM)."),
	}
}

// Fields returns the fields that the registry file has for it.
func (c *Channel) Fields() []field.Row {
	return []field.Row{
		field.Of("name", field.Required(field.Text(&c.Name)), "Name of the channel. Its notifications are runs of the job notify-NAME."),
		field.Of("type", field.Required(field.Word((*string)(&c.Type), ChannelTypes()...)), "Kind of receiver."),
		field.Of("urlEnv", field.Text(&c.URLEnv),
			"webhook, slack, alertmanager: the variable with the address. pagerduty: default https://events.pagerduty.com."),
		field.Of("key", field.Shared(&c.Key), "pagerduty: the integration key."),
		field.Of("secret", field.Shared(&c.Secret),
			"webhook: the signing secret: whsec_ and at least 24 bytes in base64. Default: not signed."),
		field.Of("smtp", field.Shared(&c.SMTP),
			"email: the server: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465."),
		field.Of("from", field.Text(&c.From), "email: the sender; default cronce@ and the name of the machine."),
		field.Of("to", field.Texts(&c.To), "email: the recipients."),
		field.Of("jobs", field.Texts(&c.Jobs), "Only incidents of these jobs: IDs, or patterns with * and ?. Default: every job."),
		field.Of("owners", field.Texts(&c.Owners), "Only incidents of jobs with one of these owners. Default: every job."),
		field.Of("labels", field.TextMap(&c.Labels), "Only incidents of jobs with all of these labels. Default: every job."),
		field.Of("on", field.Texts(&c.On),
			"Only incidents of these causes: dead, missed, late, unplanned, overdue, expiry. Default: every cause."),
		field.Of("after", field.Count(&c.After, 1), "How many problems an incident has before its first notification; default 1."),
		field.Of("remind", field.Period(&c.Remind, time.Minute, maxWait),
			"How often to repeat it while the incident is open and not acknowledged; default never."),
	}
}

// Fields returns those of a Job that jobs can share.
func (d *Defaults) Fields() []field.Row {
	var shared []field.Row
	for _, f := range (*Job)(d).Fields() {
		if f.IsShared() {
			shared = append(shared, f)
		}
	}
	return shared
}

// Fields returns the fields that the registry file has for it.
func (h *Heartbeat) Fields() []field.Row {
	return []field.Row{
		field.Of("urlEnv", field.Required(field.Text(&h.URLEnv)), "The variable with the address."),
		field.Of("every", field.Period(&h.Every, time.Second, maxWait), "How often; default 1m."),
	}
}

// Fields returns the fields that the registry file has for it.
func (k *KeyTTL) Fields() []field.Row {
	return []field.Row{
		field.Of("scope", field.Required(field.Text(&k.Scope)), "A key scope, or a prefix followed by *."),
		field.Of("ttl", field.Required(field.Span(&k.TTL, maxAge)), "How long the target keeps the keys of this scope."),
	}
}

// Fields returns the fields that the registry file has for it.
func (p *Platform) Fields() []field.Row {
	return []field.Row{
		field.Of("eventAge", field.Delay(&p.EventAge, maxWait), "Maximum age of an event in EventBridge; default 1h."),
		field.Of("lambdaEventAge", field.Delay(&p.LambdaEventAge, maxWait),
			"Maximum age of an event in Lambda's asynchronous queue; default 1h."),
		field.Of("queueAge", field.Delay(&p.QueueAge, maxWait),
			"Maximum age of a message in an SQS queue before the function; default 0s."),
	}
}

// Fields returns the fields that the registry file has for it.
func (s *KeyStore) Fields() []field.Row {
	return []field.Row{
		field.Of("name", field.Required(field.Text(&s.Name)), "Name in reports."),
		field.Of("urlEnv", field.Required(field.Text(&s.URLEnv)), "The variable with the database's URL."),
		field.Of("schema", field.Text(&s.Schema), "Schema of the table (MySQL: database); default: the connection's."),
	}
}

func (c *fileCleanup) Fields() []field.Row {
	return []field.Row{
		field.Of("schedule", field.Text(&c.Schedule), "When the purge runs, in UTC; default 30 3 * * *."),
		field.Of("timeout", field.Period(&c.Timeout, 0, maxWait), "Time limit of one purge; default 1h."),
		field.Of("ledgerRetention", field.Period(&c.LedgerRetention, 0, maxAge), "How long finished runs are kept; default 720h."),
		field.Of("deadRetention", field.Period(&c.DeadRetention, 24*time.Hour, maxAge),
			"How long unacknowledged dead runs are kept; at least 24h, default 2160h."),
		field.Of("auditRetention", field.Period(&c.AuditRetention, 24*time.Hour, maxAge),
			"How long the audit of operators' actions is kept; at least 24h, default 8760h."),
		field.Of("enabled", field.Not(&c.off), "Whether the purge runs; default true. false needs a reason."),
		field.Of("reason", field.Text(&c.DisabledBecause), "Why the purge is disabled."),
	}
}

// Given makes it a heartbeat, of which something is missing.
func (h *Heartbeat) Given(*field.Report, string) { setDefault(&h.Every, defaultEvery) }

// fileCleanup is Cleanup as the file has it.
type fileCleanup struct {
	Cleanup
	off bool
}

func (c *fileCleanup) Given(r *field.Report, path string) {
	switch {
	case c.off && c.DisabledBecause == "":
		r.Add(path+".enabled", codeMissingReason,
			"without the nightly purge, expired keys and old runs accumulate; add `reason` with what removes them instead, or remove `enabled: false`")
	case !c.off && c.DisabledBecause != "":
		r.Add(path+".reason", codeNeedlessField, "reason belongs to `enabled: false`; remove it")
	}
}
