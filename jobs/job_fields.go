package jobs

import (
	"encoding/json"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
	"github.com/cronce/cronce/schedule"
)

// These are the tables of the fields of a job in the registry file, in the order of the
// reference. A row has all that the file knows of a field: its name, how it is written,
// where its value goes to, its bounds, and its text in the reference.

// Fields returns the fields that the registry file has for it.
func (j *Job) Fields() []field.Row {
	return []field.Row{
		field.Of("id", field.Required(field.Text(&j.ID)),
			"Part of every run ID: 1 to 64 (with keyed 32, with each 41) of a-z, 0-9, dot, dash and underscore, "+
				"beginning with a letter or digit. A renamed job is a new one."),
		field.Of("schedule", field.Own(field.Text(&j.Schedule)),
			"Required, except with keyed. When the job is due, such as 0 3 * * * or @every 10m; see schedules.md."),
		field.Of("target", field.Unless(&j.TargetURLEnv, field.Text(&j.Target)),
			"Name of the target. A job has either target or targetUrlEnv."),
		field.Of("targetUrlEnv", field.Unless(&j.Target, field.Text(&j.TargetURLEnv)),
			"Instead of target: the variable with the base URL. If it is a target's urlEnv, the job uses that target; otherwise "+
				"calls have no authorization."),
		field.Of("path", field.Required(field.Text(&j.Path)), "Path of the call, appended to the base URL; begins with a slash."),
		field.Of("scopes", field.Texts(&j.Scopes), "oauth2: scopes of the access token."),
		field.Of("method", field.Word(&j.Method, methods...), "HTTP method of the call; default POST."),
		field.Of("timezone", field.Text(&j.Timezone), "IANA time zone such as Europe/Berlin; default UTC."),
		field.Of("dst", field.Word((*string)(&j.DST), schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall),
			"What to do with times that a clock change skips or repeats; default once; see schedules.md."),
		field.Of("body", field.Own(field.Body(func(text json.RawMessage) { j.Body = text })),
			"JSON body, or JSON text as a string; may have placeholders such as {{scheduledAt}}. Default: an object with jobId, "+
				"runId and scheduledAt. GET and HEAD have none."),
		field.Of("spread", field.Delay(&j.Spread, maxWait),
			"Delays each run by less than this; see schedules.md. At most 720h, and the shortest time between two scheduled times."),
		field.Of("headers", field.TextMap(&j.Headers),
			"Further header fields; values may have placeholders. Secrets belong to the target's auth."),
		field.Of("timeout", field.Period(&j.Timeout, 0, maxWait), "Time limit of one attempt; default 30s."),
		field.Of("retry", field.Object(&j.Retry), "When a failed call is retried."),
		field.Of("overlap", field.Word((*string)(&j.Overlap), OverlapSkip, OverlapQueue, OverlapAllow),
			"What happens to a scheduled time while an earlier run is unfinished; default skip."),
		field.Of("catchUp", field.Word((*string)(&j.CatchUp), CatchUpNone, CatchUpLatest, CatchUpAll),
			"Which scheduled times run that no process planned in time; default latest."),
		field.Of("catchUpWindow", field.Period(&j.CatchUpWindow, 0, maxAge), "Older scheduled times are not caught up; default 24h."),
		field.Of("acknowledge", field.Word((*string)(&j.Acknowledge), AckByOperator, AckBySuccess),
			"What acknowledges dead runs: operator (default), or success: the next success acknowledges those of earlier scheduled times. "+
				"Only for work that the next run repeats or makes obsolete."),
		field.Of("keyScope", field.Own(field.Text(&j.KeyScope)),
			"Namespace of the keys at the target; default route:METHOD_PATH, such as route:POST_/v1/close-day."),
		field.Of("maxInFlight", field.Count(&j.MaxInFlight, 0), "Maximum calls of this job at a time, in each process; default: none of its own."),
		field.Of("async", field.Own(field.Object(&j.Async)),
			"The target may answer 202 and finish the work later; see long-work.md. Default: a 202 is a success."),
		field.Of("each", field.Own(field.Object(&j.Each)), "Makes one run for each item of a list; see registry.md#a-run-for-each-item."),
		field.Of("alarm", field.Object(&j.Alarm), "When a run counts as late; each field defaults to the registry's."),
		field.Of("description", field.Own(line(&j.Description, maxDescription)),
			"What the job does: one line of at most 500 characters."),
		field.Of("owner", line(&j.Owner, maxOwner),
			"The responsible team or person, named in notifications; at most 100 characters."),
		field.Of("labels", labels(&j.Labels),
			"Up to 20 names with values such as team: billing, of at most 63 characters each; those in defaults are added."),
		field.Of("heartbeat", field.Own(field.Object((*jobHeartbeat)(&j.HeartbeatURLEnv))),
			"An address that is requested at the start and end of each run; see notifications.md."),
		field.Of("enabled", field.Own(field.Not(&j.Disabled)), "Whether the job is planned; default true."),
	}
}

// Fields returns the fields that the registry file has for it.
func (r *Retry) Fields() []field.Row {
	return []field.Row{
		field.Of("backoff", field.Durations(&r.Backoff, maxWait, maxBackoff),
			"The wait before each retry; default [500ms, 2s, 5s, 30s]; [] means no retries."),
		field.Of("for", field.Period(&r.For, 0, maxWait),
			"After backoff, adds retries with waits that double, as long as the sum of all waits (without jitter and Retry-After) is at "+
				"most this. Default: none."),
		field.Of("maxBackoff", field.Period(&r.MaxBackoff, 0, maxWait), "Longest wait of the added retries; default 5m."),
		field.Of("jitter", field.Fraction(&r.Jitter), "Random change of each wait; default 0.2: up to 20 % shorter or longer."),
		field.Of("maxRetryAfter", field.Period(&r.MaxRetryAfter, 0, maxWait), "Longest Retry-After that is honored; default 5m."),
		field.Of("horizon", field.Period(&r.Horizon, 0, maxAge),
			"How long after its first lease a run may still be sent; see guarantees.md. Default: the sum of all waits (longest "+
				"jitter), all timeouts and the ages in platform (2h, also with serve), at least 1h; async.within is added."),
	}
}

// Fields returns the fields that the registry file has for it.
func (a *Async) Fields() []field.Row {
	return []field.Row{
		field.Of("within", field.Required(field.Span(&a.Within, maxAge)),
			"How long the target may work after its first 202; part of the default of retry.horizon."),
		field.Of("poll", field.Period(&a.Poll, time.Second, maxWait),
			"The wait after a 202 without Retry-After; at least 1s, default 1m."),
	}
}

// Fields returns the fields that the registry file has for it.
func (e *Each) Fields() []field.Row {
	return []field.Row{
		field.Of("path", field.Required(field.Text(&e.Path)),
			"Path of the list, which is fetched with GET from the job's target. Pages follow by Link: rel=next."),
		field.Of("items", field.Text(&e.Items),
			"Where the keys of the items are in the answer, such as tenants.id. Default: the answer is a list of keys."),
		field.Of("max", field.Count(&e.Max, 1), "A longer list makes the run dead before anything is sent; default 100000, at most 1000000."),
		field.Of("inFlight", field.Count(&e.InFlight, 0), "Maximum members at a time, over all processes; default: the limit of each process."),
	}
}

// Fields returns the fields that the registry file has for it.
func (a *Alarm) Fields() []field.Row {
	return []field.Row{
		field.Of("startWithin", field.Delay(&a.StartWithin, maxWait),
			"A run is late if it starts later than this after its scheduled time and spread delay; 0s: never."),
		field.Of("finishWithin", field.Delay(&a.FinishWithin, maxWait),
			"A run is late if it finishes later than this after its scheduled time and spread delay; 0s: never."),
	}
}

// fileJob is a job or, if it has keyed, a template.
type fileJob struct {
	Template
	keyed bool
}

func (j *fileJob) Fields() []field.Row {
	return append(j.Job.Fields(), field.Of("keyed", field.Own(field.Object((*fileKeyed)(j))),
		"Makes the job a template of schedules that are made at run time; see schedules.md."))
}

// enter registers a template if the file gives the job the field keyed, and otherwise a job.
func (j *fileJob) enter(d *draft) {
	if j.keyed {
		j.Template.enter(d)
		return
	}
	j.Job.enter(d)
}

// fileKeyed has the fields of the file that only a template has.
type fileKeyed fileJob

func (k *fileKeyed) Fields() []field.Row {
	return []field.Row{
		field.Of("max", field.Required(field.Count(&k.Max, 0)), "How many schedules the template can have, at most 10000000."),
		field.Of("schema", field.Body(func(text json.RawMessage) { k.Schema = text }),
			"JSON Schema of the data of each schedule; default: any object."),
		field.Of("retention", field.Period(&k.Retention, 0, maxAge),
			"How long finished runs of its schedules are kept, and schedules that ended; at least catchUpWindow; default cleanup.ledgerRetention."),
	}
}

func (k *fileKeyed) Given(*field.Report, string) { k.keyed = true }

func (h *jobHeartbeat) Fields() []field.Row {
	return []field.Row{
		field.Of("urlEnv", field.Required(field.Text((*string)(h))), "The variable with the address."),
	}
}

// jobHeartbeat is Job.HeartbeatURLEnv.
type jobHeartbeat string

func (h *jobHeartbeat) Given(r *field.Report, path string) {
	if *h == "" {
		(&report{Report: r}).checkVariable(path+".urlEnv", "urlEnv", "", "the variable that holds the address")
	}
}

// Given fills in the default poll of async: {}, so that the check reports the missing within.
func (a *Async) Given(*field.Report, string) {
	if *a == (Async{}) {
		a.Poll = defaultPoll
	}
}
