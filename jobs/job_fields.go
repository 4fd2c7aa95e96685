package jobs

import (
	"encoding/json"
	"time"

	"github.com/cronce/cronce/schedule"
)

// These are the tables of the fields of a job in the registry file, in the order of the
// reference. A row has all that the file knows of a field: its name, how it is written,
// where its value goes to, its bounds, and its text in the reference.

func (j *Job) fields() []fileField {
	return []fileField{
		{"id", required{str(&j.ID)},
			"Part of every run ID: 1 to 64 of a-z, 0-9, dot, dash and underscore, beginning with a letter or digit."},
		{"schedule", own{str(&j.Schedule)},
			"Required, except with keyed. When the job is due: crontab fields (with six, seconds first), @every, @hourly and " +
				"others, or cron(), rate() or at() of AWS; see schedules.md."},
		{"target", oneTarget{text{to: &j.Target}, &j.TargetURLEnv},
			"Name of the target. A job has either target or targetUrlEnv."},
		{"targetUrlEnv", oneTarget{text{to: &j.TargetURLEnv}, &j.Target},
			"Instead of target: the variable with the base URL. If it is a target's urlEnv, the job uses that target; otherwise " +
				"calls have no authorization."},
		{"path", required{str(&j.Path)}, "Path of the call, appended to the base URL; begins with a slash."},
		{"scopes", texts{&j.Scopes}, "oauth2: scopes of the access token."},
		{"method", method{text{&j.Method, methods}}, "HTTP method of the call; default POST."},
		{"timezone", str(&j.Timezone), "IANA time zone such as Europe/Berlin; default UTC."},
		{"dst", word((*string)(&j.DST), schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall),
			"Which times fire that a clock change skips or repeats; default once; see schedules.md."},
		{"body", own{body{func(text json.RawMessage) { j.Body = text }}},
			"JSON body, or JSON text as a string; may have placeholders such as {{scheduledAt}}. Default: an object with jobId, " +
				"runId and scheduledAt. GET and HEAD have none."},
		{"spread", delay(&j.Spread, maxWait),
			"Delays each run by less than this, by a fixed delay for each scheduled time; see schedules.md. At most 720h, and the " +
				"shortest time between two scheduled times. Default: no delay."},
		{"headers", textMap{&j.Headers},
			"Further header fields; values may have placeholders. Secrets belong to the target's auth."},
		{"timeout", period(&j.Timeout, maxWait), "Time limit of one attempt; default 30s."},
		{"retry", fieldsOf(&j.Retry), "When a failed call is retried."},
		{"overlap", word((*string)(&j.Overlap), OverlapSkip, OverlapQueue, OverlapAllow),
			"What happens to a scheduled time while an earlier run is unfinished; default skip."},
		{"catchUp", word((*string)(&j.CatchUp), CatchUpNone, CatchUpLatest, CatchUpAll),
			"Which scheduled times run that no process planned in time; default latest."},
		{"catchUpWindow", period(&j.CatchUpWindow, maxAge), "Older scheduled times are not caught up; default 24h."},
		{"keyScope", own{str(&j.KeyScope)},
			"Namespace of the keys at the target; default route:METHOD_PATH, such as route:POST_/v1/close-day."},
		{"maxInFlight", count{to: &j.MaxInFlight}, "Maximum calls of this job at a time; default: the limit of the process."},
		{"async", own{fieldsOf(&j.Async)},
			"The target may answer 202 and finish the work later; see long-work.md. Default: a 202 is a success."},
		{"alarm", fieldsOf(&j.Alarm), "When a run counts as late; each field defaults to the registry's."},
		{"description", own{line{text{to: &j.Description}, maxDescription}},
			"What the job does: one line of at most 500 characters."},
		{"owner", line{text{to: &j.Owner}, maxOwner},
			"The responsible team or person, named in notifications; at most 100 characters."},
		{"labels", labels{textMap{&j.Labels}},
			"Up to 20 names with values such as team: billing, of at most 63 characters each; those in defaults are added. cronce " +
				"jobs list --label filters by them."},
		{"heartbeat", own{fieldsOf((*jobHeartbeat)(&j.HeartbeatURLEnv))},
			"An address that is requested at the start and end of each run; see notifications.md."},
		{"enabled", own{flag{to: &j.Disabled, not: true}}, "Whether the job is planned; default true."},
	}
}

func (r *Retry) fields() []fileField {
	return []fileField{
		{"backoff", durations{&r.Backoff, maxWait, maxBackoff},
			"The wait before each retry; default [500ms, 2s, 5s, 30s]; [] means no retries."},
		{"for", period(&r.For, maxWait),
			"Adds retries after those of backoff, each wait twice the one before. All waits together, without jitter and " +
				"Retry-After, are at most this. Default: none."},
		{"maxBackoff", period(&r.MaxBackoff, maxWait), "Longest wait of the added retries; default 5m."},
		{"jitter", fraction{&r.Jitter}, "Random change of each wait; default 0.2: up to 20 % shorter or longer."},
		{"maxRetryAfter", period(&r.MaxRetryAfter, maxWait), "Longest Retry-After that is honored; default 5m."},
		{"horizon", period(&r.Horizon, maxAge),
			"How long after its first lease a run may still be sent; see guarantees.md. Default: all waits with the longest " +
				"jitter, all timeouts and the ages in platform (2h, for serve too), but at least 1h; plus async.within."},
	}
}

func (a *Async) fields() []fileField {
	return []fileField{
		{"within", required{span(&a.Within, maxAge)},
			"How long the target may work after its first 202; part of the default of retry.horizon."},
		{"poll", duration{&a.Poll, noZero, time.Second, maxWait},
			"The wait after a 202 without Retry-After; at least 1s, default 1m."},
	}
}

func (a *Alarm) fields() []fileField {
	return []fileField{
		{"startWithin", delay(&a.StartWithin, maxWait),
			"A run is late if it starts later than this after its scheduled time and spread delay; 0s: never."},
		{"finishWithin", delay(&a.FinishWithin, maxWait),
			"A run is late if it finishes later than this after its scheduled time and spread delay; 0s: never."},
	}
}

// fileJob is a job or, if it has keyed, a template.
type fileJob struct {
	Template
	keyed bool
}

func (j *fileJob) fields() []fileField {
	return append(j.Job.fields(), fileField{"keyed", own{fieldsOf((*fileKeyed)(j))},
		"Makes the job a template: it has no schedule of its own, and one for each key that is made at run time; see " +
			"schedules.md."})
}

func (j *fileJob) enter(d *draft) {
	if j.keyed {
		j.Template.enter(d)
		return
	}
	j.Job.enter(d)
}

// fileKeyed is what a template has more than a job.
type fileKeyed fileJob

func (k *fileKeyed) fields() []fileField {
	return []fileField{
		{"max", required{count{to: &k.Max}}, "How many schedules the template can have, at most 10000000."},
		{"schema", body{func(text json.RawMessage) { k.Schema = text }},
			"JSON Schema of the data of each schedule; default: any object."},
		{"retention", period(&k.Retention, maxAge),
			"How long finished runs of its schedules are kept; default cleanup.ledgerRetention."},
	}
}

func (k *fileKeyed) given(*report, string) { k.keyed = true }

func (h *jobHeartbeat) fields() []fileField {
	return []fileField{
		{"urlEnv", required{str((*string)(h))}, "The variable with the address."},
	}
}

// jobHeartbeat is Job.HeartbeatURLEnv.
type jobHeartbeat string

func (h *jobHeartbeat) given(r *report, path string) {
	if *h == "" {
		r.checkVariable(path+".urlEnv", "urlEnv", "", "the variable that holds the address")
	}
}

// given makes it async, of which within is missing.
func (a *Async) given(*report, string) {
	if *a == (Async{}) {
		a.Poll = defaultPoll
	}
}
