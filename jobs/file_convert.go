package jobs

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/schedule"
)

// This file converts the types of the registry file to those of the Go API.

func (s *fileSecret) secret() Secret {
	if s == nil {
		return Secret{}
	}
	return Secret(*s)
}

func (a *fileAuth) auth() Auth {
	auth := Auth{
		Type: AuthType(a.Type), Token: a.Token.secret(),
		TokenURLEnv: a.TokenURLEnv, ClientID: a.ClientID.secret(), ClientSecret: a.ClientSecret.secret(),
		Username: a.Username.secret(), Password: a.Password.secret(),
		Key: a.Key.secret(), NextKey: a.NextKey.secret(), Audience: a.Audience,
		Secret: a.Secret.secret(), NextSecret: a.NextSecret.secret(),
		Region: a.Region, Service: a.Service,
		AccessKeyID: a.AccessKeyID.secret(), SecretAccessKey: a.SecretKey.secret(), SessionToken: a.SessionToken.secret(),
	}
	if a.Headers != nil {
		auth.Headers = map[string]Secret{}
	}
	for name, s := range a.Headers {
		auth.Headers[name] = s.secret()
	}
	return auth
}

func (a *fileAlarm) alarm() Alarm {
	if a == nil {
		return Alarm{}
	}
	return Alarm{a.StartWithin.orNone(), a.FinishWithin.orNone()}
}

func (c fileChannel) channel() Channel {
	return Channel{
		Name: c.Name, Type: ChannelType(c.Type), URLEnv: c.URLEnv, Key: c.Key.secret(), Secret: c.Secret.secret(), SMTP: c.SMTP.secret(),
		From: c.From, To: c.To, Jobs: c.Jobs, Owners: c.Owners, Labels: c.Labels, On: c.On, After: c.After, Remind: c.Remind.duration(),
	}
}

// enter hands the document's entries to the draft. Paths in the file and in
// the draft are the same.
func (doc document) enter(d *draft) {
	if doc.Version != nil && *doc.Version != 1 {
		d.add("version", codeFormatVersion, "unsupported version %d; this program reads version 1", *doc.Version)
	}
	Name(doc.Name).enter(d)
	for _, name := range slices.Sorted(maps.Keys(doc.Targets)) {
		doc.Targets[name].target(name).enter(d)
	}
	for i, j := range doc.Jobs {
		if j.Heartbeat != nil && j.Heartbeat.URLEnv == "" {
			d.checkVariable(jobPath(i)+".heartbeat.urlEnv", "urlEnv", "", "the variable that holds the address")
		}
		j.entry().enter(d)
	}
	for _, k := range doc.KeyTTLs {
		KeyTTL{k.Scope, k.TTL.duration()}.enter(d)
	}
	for _, s := range doc.KeyStores {
		KeyStore(s).enter(d)
	}
	if p := doc.Platform; p != nil {
		Platform{p.EventAge.orNone(), p.LambdaEventAge.orNone(), p.QueueAge.orNone()}.enter(d)
	}
	if doc.Cleanup != nil {
		doc.Cleanup.cleanup(d).enter(d)
	}
	if doc.Defaults != nil {
		Defaults(*doc.Defaults).enter(d)
	}
	if doc.Alarm != nil {
		doc.Alarm.alarm().inherit(Alarm{}).enter(d)
	}
	for _, c := range doc.Channels {
		c.channel().enter(d)
	}
	if h := doc.Heartbeat; h != nil {
		Heartbeat{h.URLEnv, cmp.Or(h.Every.duration(), defaultEvery)}.enter(d)
	}
}

func (t *fileTarget) target(name string) Target {
	if t == nil {
		return Target{Name: name}
	}
	target := Target{Name: name, URLEnv: t.URLEnv, AllowHTTP: t.AllowHTTP, MaxInFlight: t.MaxInFlight, KeepAnswers: t.KeepAnswers.duration()}
	if t.Key != nil {
		target.Key = Key{t.Key.Header, KeyForm(t.Key.Form), t.Key.Max, t.Key.Lifetime}
	}
	if t.Auth != nil {
		target.Auth = t.Auth.auth()
	}
	if t.TLS != nil {
		target.TLS = TLS{CA: t.TLS.CA.secret(), Cert: t.TLS.Cert.secret(), Key: t.TLS.Key.secret()}
	}
	return target
}

func (j fileJob) job() Job {
	job := Job{
		ID: j.ID, Schedule: j.Schedule, Timezone: j.Timezone, DST: schedule.DST(j.DST),
		Target: j.Target, TargetURLEnv: j.TargetURLEnv, Method: j.Method, Path: j.Path, Scopes: j.Scopes, Headers: j.Headers,
		Timeout: j.Timeout.duration(), Overlap: Overlap(j.Overlap),
		CatchUp: CatchUp(j.CatchUp), CatchUpWindow: j.CatchUpWindow.duration(),
		Spread:   j.Spread.duration(),
		KeyScope: j.KeyScope, MaxInFlight: j.MaxInFlight, Disabled: j.Enabled != nil && !*j.Enabled,
	}
	if j.Body != nil {
		job.Body = json.RawMessage(j.Body)
	}
	if j.Retry != nil {
		job.Retry = j.Retry.retry()
	}
	if j.Async != nil {
		job.Async = j.Async.async()
	}
	job.Alarm = j.Alarm.alarm()
	if j.Heartbeat != nil {
		job.HeartbeatURLEnv = j.Heartbeat.URLEnv
	}
	job.Metadata = Metadata{Description: j.Description, Owner: j.Owner, Labels: j.Labels}
	return job
}

// entry is a Template if the job has keyed, else a Job.
func (j fileJob) entry() Entry {
	if j.Keyed == nil {
		return j.job()
	}
	return Template{Job: j.job(), Max: j.Keyed.Max, Schema: json.RawMessage(j.Keyed.Schema), Retention: j.Keyed.Retention.duration()}
}

func (a fileAsync) async() Async {
	async := Async{Within: a.Within.duration(), Poll: a.Poll.duration()}
	setDefault(&async.Poll, defaultPoll) // so that an empty async is not none
	return async
}

func (r fileRetry) retry() Retry {
	retry := Retry{For: r.For.duration(), MaxBackoff: r.MaxBackoff.duration(), MaxRetryAfter: r.MaxRetryAfter.duration(), Horizon: r.Horizon.duration()}
	if r.Backoff != nil {
		retry.Backoff = make([]time.Duration, len(*r.Backoff))
		for i, wait := range *r.Backoff {
			retry.Backoff[i] = time.Duration(wait)
		}
	}
	if r.Jitter != nil {
		retry.Jitter = *r.Jitter
		if retry.Jitter == 0 {
			retry.Jitter = -1 // Retry's way to write none
		}
	}
	return retry
}

func (c fileCleanup) cleanup(d *draft) Cleanup {
	off := c.Enabled != nil && !*c.Enabled
	switch {
	case off && c.Reason == "":
		d.add("cleanup.enabled", codeMissingReason, "without the nightly purge, expired keys and old runs accumulate; add `reason` with what removes them instead, or remove `enabled: false`")
	case !off && c.Reason != "":
		d.add("cleanup.reason", codeNeedlessField, "reason belongs to `enabled: false`; remove it")
	}
	return Cleanup{
		Schedule: c.Schedule, Timeout: c.Timeout.duration(),
		LedgerRetention: c.LedgerRetention.duration(), DeadRetention: c.DeadRetention.duration(), AuditRetention: c.AuditRetention.duration(),
		DisabledBecause: c.Reason,
	}
}
