package jobs

import (
	"time"

	"github.com/goccy/go-yaml/ast"
)

// These are the tables of the fields of the registry file, but for those of a job and of
// auth.

// document is the whole file. Its entries go to the draft, under the same paths.
type document struct {
	*draft
	name string
}

func (doc *document) fields() []fileField {
	entry := func(make func() fielded) single { return single{make, doc.entry} }
	return []fileField{
		{"version", formatVersion{}, "Version of the file's format; always 1."},
		{"name", required{str(&doc.name)},
			"The registry's name, by which targets know the caller (the principal of keys). Never change it."},
		{"targets", byName{entry(func() fielded { return new(Target) }), doc.target},
			"Services that jobs call, by name."},
		{"jobs", each{entry(func() fielded { return new(fileJob) })}, "The jobs, which are scheduled calls."},
		{"keyTTLs", each{entry(func() fielded { return new(KeyTTL) })},
			"How long targets keep idempotency keys, to check jobs; set the same TTL in the target. The exact scope wins, then " +
				"the longest prefix; default 24h."},
		{"platform", entry(func() fielded { return new(Platform) }),
			"How late AWS may deliver an event to a Lambda."},
		{"keyStores", each{entry(func() fielded { return new(KeyStore) })},
			"Databases whose expired keys the nightly purge removes."},
		{"cleanup", entry(func() fielded { return new(fileCleanup) }),
			"The nightly purge of expired keys and old runs."},
		{"defaults", entry(func() fielded { return new(Defaults) }),
			"Values for jobs that do not set their own."},
		{"alarm", entry(func() fielded { return new(Alarm) }),
			"When a run counts as late, for jobs that do not set it; default: never."},
		{"notifications", each{entry(func() fielded { return new(Channel) })},
			"Where notifications of incidents are sent; see notifications.md."},
		{"heartbeat", entry(func() fielded { return new(Heartbeat) }),
			"An address that is requested while planning is on time; see notifications.md."},
	}
}

func (doc *document) entry(of fielded) { of.(Entry).enter(doc.draft) }

func (doc *document) target(name string, of fielded) {
	of.(*Target).Name = name
	doc.entry(of)
}

func (t *Target) fields() []fileField {
	return []fileField{
		{"urlEnv", required{str(&t.URLEnv)}, "The environment variable with the base URL."},
		{"auth", fieldsOf(&t.Auth), "How calls are authorized; default none."},
		{"tls", fieldsOf(&t.TLS), "Certificates; default: the authorities of the system, and no client certificate."},
		{"allowHTTP", flag{to: &t.AllowHTTP},
			"Allow plain http to another machine, but not to a token endpoint; default false."},
		{"maxInFlight", count{to: &t.MaxInFlight},
			"Maximum calls to this target at a time; default: the limit of the process."},
		{"keepAnswers", period(&t.KeepAnswers, maxKept),
			"How long to keep what a failing answer says: title and detail of a problem document, else its first 1 KiB. At most " +
				"2160h. Default: never kept."},
		{"key", fieldsOf(&t.Key), "How the target takes idempotency keys; default: the run ID in Idempotency-Key."},
	}
}

func (k *Key) fields() []fileField {
	return []fileField{
		{"header", str(&k.Header), "Header field of the key; default Idempotency-Key."},
		{"form", word((*string)(&k.Form), keyForms...), "Form of the key; default runId."},
		{"max", count{to: &k.Max},
			"The longest key that the target takes, in characters; longer ones are refused. Default: no limit."},
		{"lifetime", str(&k.Lifetime),
			"Path at which the target says how long it keeps keys, for check --live; default " +
				"/.well-known/idempotency-key-lifetime."},
	}
}

func (t *TLS) fields() []fileField {
	return []fileField{
		{"ca", secret{&t.CA}, "CA certificates (PEM) for the target's certificate, instead of the system's."},
		{"cert", secret{&t.Cert}, "The client's certificate (PEM), followed by its intermediate certificates."},
		{"key", secret{&t.Key}, "The client's private key (PEM)."},
	}
}

func (c *Channel) fields() []fileField {
	return []fileField{
		{"name", required{str(&c.Name)}, "Name of the channel. Its notifications are runs of the job notify-NAME."},
		{"type", required{word((*string)(&c.Type), ChannelWebhook, ChannelSlack, ChannelPagerDuty, ChannelAlertmanager, ChannelEmail)},
			"Kind of receiver."},
		{"urlEnv", str(&c.URLEnv),
			"webhook, slack, alertmanager: the variable with the address. pagerduty: default https://events.pagerduty.com."},
		{"key", secret{&c.Key}, "pagerduty: the integration key."},
		{"secret", secret{&c.Secret},
			"webhook: the signing secret: whsec_ and at least 24 bytes in base64. Default: not signed."},
		{"smtp", secret{&c.SMTP},
			"email: the server: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465."},
		{"from", str(&c.From), "email: the sender; default cronce@ and the name of the machine."},
		{"to", texts{&c.To}, "email: the recipients."},
		{"jobs", texts{&c.Jobs}, "Only incidents of these jobs: IDs, or patterns with * and ?. Default: every job."},
		{"owners", texts{&c.Owners}, "Only incidents of jobs with one of these owners. Default: every job."},
		{"labels", textMap{&c.Labels}, "Only incidents of jobs with all of these labels. Default: every job."},
		{"on", texts{&c.On},
			"Only incidents of these causes: dead, missed, late, unplanned, overdue, expiry. Default: every cause."},
		{"after", count{&c.After, 1}, "How many problems an incident has before its first notification; default 1."},
		{"remind", duration{&c.Remind, noZero, time.Minute, maxWait},
			"How often to repeat it while the incident is open and not acknowledged; default never."},
	}
}

// fields are those of a Job that it can share with others.
func (d *Defaults) fields() []fileField {
	var shared []fileField
	for _, f := range (*Job)(d).fields() {
		if !ofOneJob(f.kind) {
			shared = append(shared, f)
		}
	}
	return shared
}

func (h *Heartbeat) fields() []fileField {
	return []fileField{
		{"urlEnv", required{str(&h.URLEnv)}, "The variable with the address."},
		{"every", duration{&h.Every, noZero, time.Second, maxWait}, "How often; default 1m."},
	}
}

func (k *KeyTTL) fields() []fileField {
	return []fileField{
		{"scope", required{str(&k.Scope)}, "A key scope, or a prefix followed by *."},
		{"ttl", required{span(&k.TTL, maxAge)}, "How long the target keeps the keys of this scope."},
	}
}

func (p *Platform) fields() []fileField {
	return []fileField{
		{"eventAge", delay(&p.EventAge, maxWait), "Maximum age of an event in EventBridge; default 1h."},
		{"lambdaEventAge", delay(&p.LambdaEventAge, maxWait),
			"Maximum age of an event in Lambda's asynchronous queue; default 1h."},
		{"queueAge", delay(&p.QueueAge, maxWait),
			"Maximum age of a message in an SQS queue before the function; default 0s."},
	}
}

func (s *KeyStore) fields() []fileField {
	return []fileField{
		{"name", required{str(&s.Name)}, "Name in reports."},
		{"urlEnv", required{str(&s.URLEnv)}, "The variable with the database's URL."},
		{"schema", str(&s.Schema), "Schema of the table (MySQL: database); default: the connection's."},
	}
}

func (c *fileCleanup) fields() []fileField {
	return []fileField{
		{"schedule", str(&c.Schedule), "When the purge runs, in UTC; default 30 3 * * *."},
		{"timeout", period(&c.Timeout, maxWait), "Time limit of one purge; default 1h."},
		{"ledgerRetention", period(&c.LedgerRetention, maxAge), "How long finished runs are kept; default 720h."},
		{"deadRetention", duration{&c.DeadRetention, noZero, 24 * time.Hour, maxAge},
			"How long unacknowledged dead runs are kept; at least 24h, default 2160h."},
		{"auditRetention", duration{&c.AuditRetention, noZero, 24 * time.Hour, maxAge},
			"How long the audit of operators' actions is kept; at least 24h, default 8760h."},
		{"enabled", flag{to: &c.off, not: true}, "Whether the purge runs; default true. false needs a reason."},
		{"reason", str(&c.DisabledBecause), "Why the purge is disabled."},
	}
}

// given makes it a heartbeat, of which something is missing.
func (h *Heartbeat) given(*report, string) { setDefault(&h.Every, defaultEvery) }

// fileCleanup is Cleanup as the file has it.
type fileCleanup struct {
	Cleanup
	off bool
}

func (c *fileCleanup) given(r *report, path string) {
	switch {
	case c.off && c.DisabledBecause == "":
		r.add(path+".enabled", codeMissingReason, "without the nightly purge, expired keys and old runs accumulate; add `reason` with what removes them instead, or remove `enabled: false`")
	case !c.off && c.DisabledBecause != "":
		r.add(path+".reason", codeNeedlessField, "reason belongs to `enabled: false`; remove it")
	}
}

// formatVersion is 1.
type formatVersion struct{}

func (formatVersion) decode(d *decoder, path string, n ast.Node) {
	version := 1
	if (count{to: &version}).decode(d, path, n); version != 1 {
		d.add(path, codeFormatVersion, "unsupported version %d; this program reads version 1", version)
	}
}

func (formatVersion) schema() schema {
	return schema{"type": "integer", "minimum": 0, "enum": []int{1}}
}
func (formatVersion) check(*report, string) {}
func (formatVersion) inherit(kind)          {}
