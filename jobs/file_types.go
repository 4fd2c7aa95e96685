package jobs

import (
	"encoding/json"
)

// The types of the registry file. The decoder and the JSON Schema are both
// made from them: `yaml` is a field's name, `doc` its description, `enum` its
// values. A pointer tells a value that is written from one that is not.

type document struct {
	Version   *int                   `yaml:"version" doc:"Version of the file's format; always 1." enum:"1"`
	Name      string                 `yaml:"name" doc:"The registry's name, by which targets know the caller (the principal of keys). Never change it." required:"true"`
	Targets   map[string]*fileTarget `yaml:"targets" doc:"Services that jobs call, by name."`
	Jobs      []fileJob              `yaml:"jobs" doc:"The jobs, which are scheduled calls."`
	KeyTTLs   []fileTTL              `yaml:"keyTTLs" doc:"How long targets keep idempotency keys, to check jobs; set the same TTL in the target. The exact scope wins, then the longest prefix; default 24h."`
	Platform  *filePlatform          `yaml:"platform" doc:"How late AWS may deliver an event to a Lambda."`
	KeyStores []fileStore            `yaml:"keyStores" doc:"Databases whose expired keys the nightly purge removes."`
	Cleanup   *fileCleanup           `yaml:"cleanup" doc:"The nightly purge of expired keys and old runs."`
	Defaults  *fileDefaults          `yaml:"defaults" doc:"Values for jobs that do not set their own."`
	Alarm     *fileAlarm             `yaml:"alarm" doc:"When a run counts as late, for jobs that do not set it; default: never."`
	Channels  []fileChannel          `yaml:"notifications" doc:"Where notifications of incidents are sent; see notifications.md."`
	Heartbeat *fileHeartbeat         `yaml:"heartbeat" doc:"An address that is requested while planning is on time; see notifications.md."`
}

type fileTarget struct {
	URLEnv      string    `yaml:"urlEnv" doc:"The environment variable with the base URL." required:"true"`
	Auth        *fileAuth `yaml:"auth" doc:"How calls are authorized; default none."`
	TLS         *fileTLS  `yaml:"tls" doc:"Certificates; default: the authorities of the system, and no client certificate."`
	AllowHTTP   bool      `yaml:"allowHTTP" doc:"Allow plain http to another machine, but not to a token endpoint; default false."`
	MaxInFlight int       `yaml:"maxInFlight" doc:"Maximum calls to this target at a time; default: the limit of the process."`
	KeepAnswers *period   `yaml:"keepAnswers" doc:"How long to keep what a failing answer says: title and detail of a problem document, else its first 1 KiB. At most 2160h. Default: never kept."`
	Key         *fileKey  `yaml:"key" doc:"How the target takes idempotency keys; default: the run ID in Idempotency-Key."`
}

type fileKey struct {
	Header string `yaml:"header" doc:"Header field of the key; default Idempotency-Key."`
	Form   string `yaml:"form" doc:"Form of the key; default runId." enum:"runId,uuid4,uuid7,hex32,token22,token64"`
	Max    int    `yaml:"max" doc:"The longest key that the target takes, in characters; longer ones are refused. Default: no limit."`

	Lifetime string `yaml:"lifetime" doc:"Path at which the target says how long it keeps keys, for check --live; default /.well-known/idempotency-key-lifetime."`
}

type fileAuth struct {
	Type         string                 `yaml:"type" doc:"bearer: a token; oauth2: client credentials; basic: user and password; headers: fields such as X-Api-Key; jwt: a signed token for each call; hmac: Standard Webhooks; sigv4: AWS (IAM)." enum:"none,bearer,oauth2,basic,headers,jwt,hmac,sigv4" required:"true"`
	Token        *fileSecret            `yaml:"token" doc:"bearer: the token."`
	TokenURLEnv  string                 `yaml:"tokenUrlEnv" doc:"oauth2: the variable with the token endpoint's URL."`
	ClientID     *fileSecret            `yaml:"clientId" doc:"oauth2: the client ID."`
	ClientSecret *fileSecret            `yaml:"clientSecret" doc:"oauth2: the client secret."`
	Username     *fileSecret            `yaml:"username" doc:"basic: the user name."`
	Password     *fileSecret            `yaml:"password" doc:"basic: the password."`
	Headers      map[string]*fileSecret `yaml:"headers" doc:"headers: the values by header field."`
	Key          *fileSecret            `yaml:"key" doc:"jwt: the private key, Ed25519 or P-256 in PEM; cronce keys generate makes one."`
	NextKey      *fileSecret            `yaml:"nextKey" doc:"jwt: the private key of the next rotation. Its public key is published, and no call is signed with it."`
	Audience     string                 `yaml:"audience" doc:"jwt: the audience; default the target's name."`
	Secret       *fileSecret            `yaml:"secret" doc:"hmac: the signing secret: whsec_ and at least 24 bytes in base64."`
	NextSecret   *fileSecret            `yaml:"nextSecret" doc:"hmac: a second secret; each call then has two signatures."`
	Region       string                 `yaml:"region" doc:"sigv4: the target's AWS region."`
	Service      string                 `yaml:"service" doc:"sigv4: execute-api (API Gateway), lambda (function URLs) or another service, but not s3."`
	AccessKeyID  *fileSecret            `yaml:"accessKeyId" doc:"sigv4: the access key ID."`
	SecretKey    *fileSecret            `yaml:"secretAccessKey" doc:"sigv4: the secret access key."`
	SessionToken *fileSecret            `yaml:"sessionToken" doc:"sigv4: the session token of temporary credentials."`
}

type fileTLS struct {
	CA   *fileSecret `yaml:"ca" doc:"CA certificates (PEM) for the target's certificate, instead of the system's."`
	Cert *fileSecret `yaml:"cert" doc:"The client's certificate (PEM), followed by its intermediate certificates."`
	Key  *fileSecret `yaml:"key" doc:"The client's private key (PEM)."`
}

type fileSecret struct {
	Env  string `yaml:"env" doc:"The environment variable that holds the secret. In a Lambda it may hold {\"secretsManager\":\"ARN\"} or {\"ssm\":\"NAME\"}."`
	File string `yaml:"file" doc:"Absolute path of the file that holds the secret, without a line break at its end. A changed file is used within a second; if it cannot be read, the last value is kept."`
}

type fileJob struct {
	ID            string            `yaml:"id" doc:"Part of every run ID: 1 to 64 of a-z, 0-9, dot, dash and underscore, beginning with a letter or digit." required:"true"`
	Schedule      string            `yaml:"schedule" doc:"Required, except with keyed. When the job is due: crontab fields (with six, seconds first), @every, @hourly and others, or cron(), rate() or at() of AWS; see schedules.md."`
	Target        string            `yaml:"target" doc:"Name of the target. A job has either target or targetUrlEnv."`
	TargetURLEnv  string            `yaml:"targetUrlEnv" doc:"Instead of target: the variable with the base URL. If it is a target's urlEnv, the job uses that target; otherwise calls have no authorization."`
	Path          string            `yaml:"path" doc:"Path of the call, appended to the base URL; begins with a slash." required:"true"`
	Scopes        []string          `yaml:"scopes" doc:"oauth2: scopes of the access token."`
	Method        string            `yaml:"method" doc:"HTTP method of the call; default POST." enum:"POST,PUT,PATCH,DELETE,GET,HEAD"`
	Timezone      string            `yaml:"timezone" doc:"IANA time zone such as Europe/Berlin; default UTC."`
	DST           string            `yaml:"dst" doc:"Which times fire that a clock change skips or repeats; default once; see schedules.md." enum:"once,skip,wall"`
	Body          yamlBody          `yaml:"body" doc:"JSON body, or JSON text as a string; may have placeholders such as {{scheduledAt}}. Default: an object with jobId, runId and scheduledAt. GET and HEAD have none."`
	Spread        *period           `yaml:"spread" doc:"Delays each run by less than this, by a fixed delay for each scheduled time; see schedules.md. At most 720h, and the shortest time between two scheduled times. Default: no delay."`
	Headers       map[string]string `yaml:"headers" doc:"Further header fields; values may have placeholders. Secrets belong to the target's auth."`
	Timeout       *period           `yaml:"timeout" doc:"Time limit of one attempt; default 30s."`
	Retry         *fileRetry        `yaml:"retry" doc:"When a failed call is retried."`
	Overlap       string            `yaml:"overlap" doc:"What happens to a scheduled time while an earlier run is unfinished; default skip." enum:"skip,queue,allow"`
	CatchUp       string            `yaml:"catchUp" doc:"Which scheduled times run that no process planned in time; default latest." enum:"none,latest,all"`
	CatchUpWindow *period           `yaml:"catchUpWindow" doc:"Older scheduled times are not caught up; default 24h."`
	KeyScope      string            `yaml:"keyScope" doc:"Namespace of the keys at the target; default route:METHOD_PATH, such as route:POST_/v1/close-day."`
	MaxInFlight   int               `yaml:"maxInFlight" doc:"Maximum calls of this job at a time; default: the limit of the process."`
	Async         *fileAsync        `yaml:"async" doc:"The target may answer 202 and finish the work later; see long-work.md. Default: a 202 is a success."`
	Alarm         *fileAlarm        `yaml:"alarm" doc:"When a run counts as late; each field defaults to the registry's."`
	Description   string            `yaml:"description" doc:"What the job does: one line of at most 500 characters."`
	Owner         string            `yaml:"owner" doc:"The responsible team or person, named in notifications; at most 100 characters."`
	Labels        map[string]string `yaml:"labels" doc:"Up to 20 names with values such as team: billing, of at most 63 characters each; those in defaults are added. cronce jobs list --label filters by them."`
	Heartbeat     *fileBeat         `yaml:"heartbeat" doc:"An address that is requested at the start and end of each run; see notifications.md."`
	Keyed         *fileKeyed        `yaml:"keyed" doc:"Makes the job a template: it has no schedule of its own, and one for each key that is made at run time; see schedules.md."`
	Enabled       *bool             `yaml:"enabled" doc:"Whether the job is planned; default true."`
}

type fileRetry struct {
	Backoff       *[]delay `yaml:"backoff" doc:"The wait before each retry; default [500ms, 2s, 5s, 30s]; [] means no retries."`
	For           *period  `yaml:"for" doc:"Adds retries after those of backoff, each wait twice the one before. All waits together, without jitter and Retry-After, are at most this. Default: none."`
	MaxBackoff    *period  `yaml:"maxBackoff" doc:"Longest wait of the added retries; default 5m."`
	Jitter        *float64 `yaml:"jitter" doc:"Random change of each wait; default 0.2: up to 20 % shorter or longer."`
	MaxRetryAfter *period  `yaml:"maxRetryAfter" doc:"Longest Retry-After that is honored; default 5m."`
	Horizon       *period  `yaml:"horizon" doc:"How long after its first lease a run may still be sent; see guarantees.md. Default: all waits with the longest jitter, all timeouts and the ages in platform (2h, for serve too), but at least 1h; plus async.within."`
}

type fileKeyed struct {
	Max       int      `yaml:"max" doc:"How many schedules the template can have, at most 10000000." required:"true"`
	Schema    yamlBody `yaml:"schema" doc:"JSON Schema of the data of each schedule; default: any object."`
	Retention *period  `yaml:"retention" doc:"How long finished runs of its schedules are kept; default cleanup.ledgerRetention."`
}

type fileDefaults struct {
	Owner  string            `yaml:"owner" doc:"Owner of jobs without one."`
	Labels map[string]string `yaml:"labels" doc:"Labels of every job; a job's own label wins."`
}

type fileAlarm struct {
	StartWithin  *delay `yaml:"startWithin" doc:"A run is late if it starts later than this after its scheduled time and spread delay; 0s: never."`
	FinishWithin *delay `yaml:"finishWithin" doc:"A run is late if it finishes later than this after its scheduled time and spread delay; 0s: never."`
}

type fileChannel struct {
	Name   string            `yaml:"name" doc:"Name of the channel. Its notifications are runs of the job notify-NAME." required:"true"`
	Type   string            `yaml:"type" doc:"Kind of receiver." enum:"webhook,slack,pagerduty,alertmanager,email" required:"true"`
	URLEnv string            `yaml:"urlEnv" doc:"webhook, slack, alertmanager: the variable with the address. pagerduty: default https://events.pagerduty.com."`
	Key    *fileSecret       `yaml:"key" doc:"pagerduty: the integration key."`
	Secret *fileSecret       `yaml:"secret" doc:"webhook: the signing secret: whsec_ and at least 24 bytes in base64. Default: not signed."`
	SMTP   *fileSecret       `yaml:"smtp" doc:"email: the server: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465."`
	From   string            `yaml:"from" doc:"email: the sender; default cronce@ and the name of the machine."`
	To     []string          `yaml:"to" doc:"email: the recipients."`
	Jobs   []string          `yaml:"jobs" doc:"Only incidents of these jobs: IDs, or patterns with * and ?. Default: every job."`
	Owners []string          `yaml:"owners" doc:"Only incidents of jobs with one of these owners. Default: every job."`
	Labels map[string]string `yaml:"labels" doc:"Only incidents of jobs with all of these labels. Default: every job."`
	On     []string          `yaml:"on" doc:"Only incidents of these causes: dead, missed, late, unplanned, overdue, expiry. Default: every cause."`
	After  int               `yaml:"after" doc:"How many problems an incident has before its first notification; default 1."`
	Remind *period           `yaml:"remind" doc:"How often to repeat it while the incident is open and not acknowledged; default never."`
}

type fileBeat struct {
	URLEnv string `yaml:"urlEnv" doc:"The variable with the address." required:"true"`
}

type fileHeartbeat struct {
	URLEnv string  `yaml:"urlEnv" doc:"The variable with the address." required:"true"`
	Every  *period `yaml:"every" doc:"How often; default 1m."`
}

type fileAsync struct {
	Within *span   `yaml:"within" doc:"How long the target may work after its first 202; part of the default of retry.horizon." required:"true"`
	Poll   *period `yaml:"poll" doc:"The wait after a 202 without Retry-After; at least 1s, default 1m."`
}

type fileTTL struct {
	Scope string `yaml:"scope" doc:"A key scope, or a prefix followed by *." required:"true"`
	TTL   *span  `yaml:"ttl" doc:"How long the target keeps the keys of this scope." required:"true"`
}

type filePlatform struct {
	EventAge       *delay `yaml:"eventAge" doc:"Maximum age of an event in EventBridge; default 1h."`
	LambdaEventAge *delay `yaml:"lambdaEventAge" doc:"Maximum age of an event in Lambda's asynchronous queue; default 1h."`
	QueueAge       *delay `yaml:"queueAge" doc:"Maximum age of a message in an SQS queue before the function; default 0s."`
}

type fileStore struct {
	Name   string `yaml:"name" doc:"Name in reports." required:"true"`
	URLEnv string `yaml:"urlEnv" doc:"The variable with the database's URL." required:"true"`
	Schema string `yaml:"schema" doc:"Schema of the table (MySQL: database); default: the connection's."`
}

type fileCleanup struct {
	Schedule        string  `yaml:"schedule" doc:"When the purge runs, in UTC; default 30 3 * * *."`
	Timeout         *period `yaml:"timeout" doc:"Time limit of one purge; default 1h."`
	LedgerRetention *period `yaml:"ledgerRetention" doc:"How long finished runs are kept; default 720h."`
	DeadRetention   *period `yaml:"deadRetention" doc:"How long unacknowledged dead runs are kept; at least 24h, default 2160h."`
	AuditRetention  *period `yaml:"auditRetention" doc:"How long the audit of operators' actions is kept; at least 24h, default 8760h."`
	Enabled         *bool   `yaml:"enabled" doc:"Whether the purge runs; default true. false needs a reason."`
	Reason          string  `yaml:"reason" doc:"Why the purge is disabled."`
}

// yamlBody is a body as JSON; nil when none is written.
type yamlBody json.RawMessage
