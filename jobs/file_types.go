package jobs

import (
	"encoding/json"
)

// The types of the registry file. The decoder and the JSON Schema are both
// made from them: `yaml` is a field's name, `doc` its description, `enum` its
// values. A pointer tells a value that is written from one that is not.

type document struct {
	Version   *int                   `yaml:"version" doc:"Version of the format of this file; always 1." enum:"1"`
	Name      string                 `yaml:"name" doc:"The name of the registry. Targets know the caller by this name: it is the principal of keys. So never change it." required:"true"`
	Targets   map[string]*fileTarget `yaml:"targets" doc:"Services that jobs call, by name."`
	Jobs      []fileJob              `yaml:"jobs" doc:"The jobs, which are scheduled calls."`
	KeyTTLs   []fileTTL              `yaml:"keyTTLs" doc:"How long targets keep idempotency keys. cronce only uses this to check jobs: set the same TTL in the target. An exact scope takes precedence over prefixes, and a longer prefix over a shorter one. Other scopes have 24h."`
	Platform  *filePlatform          `yaml:"platform" doc:"How late AWS may deliver an event when a Lambda runs jobs."`
	KeyStores []fileStore            `yaml:"keyStores" doc:"Databases whose expired keys the nightly purge removes."`
	Cleanup   *fileCleanup           `yaml:"cleanup" doc:"The built-in job that removes expired keys and old runs each night."`
	Defaults  *fileDefaults          `yaml:"defaults" doc:"Values for every job that does not set its own."`
	Alarm     *fileAlarm             `yaml:"alarm" doc:"The limits after which a run counts as late, for each job that does not set them in its own alarm. Default: a run is never late."`
	Channels  []fileChannel          `yaml:"notifications" doc:"Where notifications of incidents are sent; see notifications.md."`
	Heartbeat *fileHeartbeat         `yaml:"heartbeat" doc:"An address that cronce requests regularly while it plans on time; see notifications.md."`
}

type fileTarget struct {
	URLEnv      string    `yaml:"urlEnv" doc:"Name of the environment variable that holds the base URL." required:"true"`
	Auth        *fileAuth `yaml:"auth" doc:"How calls are authorized; default none."`
	TLS         *fileTLS  `yaml:"tls" doc:"Certificates of connections; default: the certificate authorities of the system, and no client certificate."`
	AllowHTTP   bool      `yaml:"allowHTTP" doc:"Allow unencrypted http to another machine, but not to a token endpoint; default false."`
	MaxInFlight int       `yaml:"maxInFlight" doc:"Maximum number of calls to this target at the same time; default: the limit of the process."`
	Key         *fileKey  `yaml:"key" doc:"How the target takes idempotency keys; default: the run ID in Idempotency-Key. See requests.md."`
}

type fileKey struct {
	Header string `yaml:"header" doc:"Name of the header field that carries the key; default Idempotency-Key."`
	Form   string `yaml:"form" doc:"Form of the key: runId (default); uuid4 or uuid7; hex32, 32 hexadecimal digits; token22 or token64, 22 or up to 64 of A-Z, a-z, 0-9, dash and underscore." enum:"runId,uuid4,uuid7,hex32,token22,token64"`
	Max    int    `yaml:"max" doc:"The longest key that the target takes, in characters. A job whose keys could be longer is refused. Default: no limit."`
}

type fileAuth struct {
	Type         string                 `yaml:"type" doc:"none; bearer, one token; oauth2, client credentials; basic, a user name and password; headers, fields such as X-Api-Key; jwt, a signed token for each call; hmac, a signature of each call (Standard Webhooks); sigv4, a signature for AWS (IAM)." enum:"none,bearer,oauth2,basic,headers,jwt,hmac,sigv4" required:"true"`
	Token        *fileSecret            `yaml:"token" doc:"bearer: where the token is."`
	TokenURLEnv  string                 `yaml:"tokenUrlEnv" doc:"oauth2: name of the variable that holds the token endpoint's URL."`
	ClientID     *fileSecret            `yaml:"clientId" doc:"oauth2: where the client ID is."`
	ClientSecret *fileSecret            `yaml:"clientSecret" doc:"oauth2: where the client secret is."`
	Username     *fileSecret            `yaml:"username" doc:"basic: where the user name is."`
	Password     *fileSecret            `yaml:"password" doc:"basic: where the password is."`
	Headers      map[string]*fileSecret `yaml:"headers" doc:"headers: names of header fields, and where their values are."`
	Key          *fileSecret            `yaml:"key" doc:"jwt: where the private key is: Ed25519 or P-256, in PEM. cronce keys generate makes one."`
	NextKey      *fileSecret            `yaml:"nextKey" doc:"jwt: where the next private key is; it replaces key at the next rotation. cronce serve already publishes its public key, but no call is signed with it."`
	Audience     string                 `yaml:"audience" doc:"jwt: the audience that the target expects; default the target's name."`
	Secret       *fileSecret            `yaml:"secret" doc:"hmac: where the signing secret is: whsec_ and at least 24 bytes in base64."`
	NextSecret   *fileSecret            `yaml:"nextSecret" doc:"hmac: where a second secret is. Each call then has two signatures, one with each secret."`
	Region       string                 `yaml:"region" doc:"sigv4: the AWS region of the target, such as eu-central-1."`
	Service      string                 `yaml:"service" doc:"sigv4: the AWS service that checks the signature, such as execute-api (API Gateway) or lambda (function URLs). s3 is not supported."`
	AccessKeyID  *fileSecret            `yaml:"accessKeyId" doc:"sigv4: where the access key ID is."`
	SecretKey    *fileSecret            `yaml:"secretAccessKey" doc:"sigv4: where the secret access key is."`
	SessionToken *fileSecret            `yaml:"sessionToken" doc:"sigv4: where the session token of temporary credentials is."`
}

type fileTLS struct {
	CA   *fileSecret `yaml:"ca" doc:"Where the CA certificates (PEM) are that verify the target's certificate. They replace those of the system."`
	Cert *fileSecret `yaml:"cert" doc:"Where the client's certificate is, in PEM, followed by its intermediate certificates."`
	Key  *fileSecret `yaml:"key" doc:"Where the client's private key is, in PEM."`
}

type fileSecret struct {
	Env  string `yaml:"env" doc:"Name of the environment variable that holds the secret. In a Lambda the variable may hold {\"secretsManager\":\"ARN\"} or {\"ssm\":\"NAME\"}."`
	File string `yaml:"file" doc:"Absolute path of the file that holds the secret. A line break at its end is ignored. A changed file is used within a second; if it cannot be read, the last value is kept."`
}

type fileJob struct {
	ID            string            `yaml:"id" doc:"ID of the job, a part of every run ID: 1 to 64 of a-z, 0-9, dot, dash and underscore. It starts with a letter or digit." required:"true"`
	Schedule      string            `yaml:"schedule" doc:"When the job is due: crontab fields (five, or six with seconds first), @every, a name such as @hourly, or cron(), rate() or at() of AWS; see schedules.md." required:"true"`
	Target        string            `yaml:"target" doc:"Name of the target, from targets. A job has either target or targetUrlEnv."`
	TargetURLEnv  string            `yaml:"targetUrlEnv" doc:"Instead of target: name of the variable that holds the base URL. If a target has this variable as its urlEnv, the job uses that target. Otherwise calls have no authorization."`
	Path          string            `yaml:"path" doc:"Path of the call. It starts with a slash and is appended to the base URL." required:"true"`
	Scopes        []string          `yaml:"scopes" doc:"oauth2: scopes of the access token. Other types of auth do not use them."`
	Method        string            `yaml:"method" doc:"HTTP method of the call; default POST." enum:"POST,PUT,PATCH,DELETE,GET,HEAD"`
	Timezone      string            `yaml:"timezone" doc:"Time zone of the schedule, an IANA name such as Europe/Berlin; default UTC."`
	DST           string            `yaml:"dst" doc:"What happens to scheduled times that a clock change skips or repeats: once (default), skip or wall; see schedules.md." enum:"once,skip,wall"`
	Body          yamlBody          `yaml:"body" doc:"JSON body of the call, the same on every attempt. A string is taken as JSON text. Strings may have placeholders such as {{scheduledAt}}; see requests.md. Default: an object with jobId, runId and scheduledAt. GET and HEAD calls have no body."`
	Spread        *period           `yaml:"spread" doc:"Delays each run by less than this, in whole seconds. Each scheduled time has its own, fixed delay; see schedules.md. At most 720h, and at most the shortest time between two scheduled times. Default: no delay."`
	Headers       map[string]string `yaml:"headers" doc:"Additional header fields of the call, the same on every attempt. Values may have placeholders as in body. Secrets are not allowed here; they belong to the auth of the target."`
	Timeout       *period           `yaml:"timeout" doc:"Time limit of one attempt; default 30s."`
	Retry         *fileRetry        `yaml:"retry" doc:"When a failed call is retried."`
	Overlap       string            `yaml:"overlap" doc:"What happens to a scheduled time while an earlier run of the job is unfinished: skip (default), queue or allow; see catch-up.md." enum:"skip,queue,allow"`
	CatchUp       string            `yaml:"catchUp" doc:"Which scheduled times run if no process planned them in time: none, latest (default) or all; see catch-up.md." enum:"none,latest,all"`
	CatchUpWindow *period           `yaml:"catchUpWindow" doc:"Scheduled times older than this are not caught up; default 24h."`
	KeyScope      string            `yaml:"keyScope" doc:"Namespace of the idempotency keys at the target; default route:METHOD_PATH, such as route:POST_/v1/close-day."`
	MaxInFlight   int               `yaml:"maxInFlight" doc:"Maximum number of calls of this job at the same time; default: the limit of the process."`
	Async         *fileAsync        `yaml:"async" doc:"With it, the target may answer 202 Accepted and finish the work later; see long-work.md. Default: a 202 is a success."`
	Alarm         *fileAlarm        `yaml:"alarm" doc:"The limits after which a run of this job counts as late. Each field defaults to that of the registry."`
	Description   string            `yaml:"description" doc:"What the job does, in one line of at most 500 characters."`
	Owner         string            `yaml:"owner" doc:"The team or person that is responsible for the job, at most 100 characters. Notifications name the owner. Default: the owner in defaults."`
	Labels        map[string]string `yaml:"labels" doc:"Up to 20 names with values, such as team: billing, each of at most 63 characters. cronce jobs list --label filters by them. The labels in defaults are added."`
	Heartbeat     *fileBeat         `yaml:"heartbeat" doc:"An address that cronce requests at the start and end of each run; see notifications.md. Default: none."`
	Enabled       *bool             `yaml:"enabled" doc:"Whether the job is planned; default true."`
}

type fileRetry struct {
	Backoff       *[]delay `yaml:"backoff" doc:"The wait before each retry; default [500ms, 2s, 5s, 30s]. An empty list means no retries."`
	For           *period  `yaml:"for" doc:"Adds retries after those of backoff. Each wait is twice the one before, up to maxBackoff. Retries are added as long as the sum of all waits is at most this value. Jitter and Retry-After do not count in the sum. Default: no added retries."`
	MaxBackoff    *period  `yaml:"maxBackoff" doc:"Longest wait of the retries that for adds; default 5m."`
	Jitter        *float64 `yaml:"jitter" doc:"How much each wait is changed at random. 0.2, the default, means up to 20 % shorter or longer."`
	MaxRetryAfter *period  `yaml:"maxRetryAfter" doc:"Longest wait that a target may ask for with Retry-After; default 5m."`
	Horizon       *period  `yaml:"horizon" doc:"How long after its first lease a run may still be sent; see guarantees.md. Default: the sum of all waits with the longest jitter, all timeouts and the three ages in platform, but at least 1h; plus async.within. The three ages together are 2h unless platform changes them. They are included for serve too."`
}

type fileDefaults struct {
	Owner  string            `yaml:"owner" doc:"The owner of each job that has no owner field."`
	Labels map[string]string `yaml:"labels" doc:"Labels of every job; a job's own label of the same name wins."`
}

type fileAlarm struct {
	StartWithin  *delay `yaml:"startWithin" doc:"A run is late if it has not started this long after its scheduled time plus its spread delay; 0s: never late."`
	FinishWithin *delay `yaml:"finishWithin" doc:"A run is late if it has not finished this long after its scheduled time plus its spread delay; 0s: never late."`
}

type fileChannel struct {
	Name   string      `yaml:"name" doc:"Name of the channel. Its notifications are runs of the job notify-NAME." required:"true"`
	Type   string      `yaml:"type" doc:"Kind of receiver: webhook, slack, pagerduty, alertmanager or email." enum:"webhook,slack,pagerduty,alertmanager,email" required:"true"`
	URLEnv string      `yaml:"urlEnv" doc:"webhook, slack, alertmanager: name of the variable that holds the address. pagerduty: default https://events.pagerduty.com."`
	Key    *fileSecret `yaml:"key" doc:"pagerduty: where the integration key is."`
	Secret *fileSecret `yaml:"secret" doc:"webhook: where the signing secret is: whsec_ and at least 24 bytes in base64. Default: not signed."`
	SMTP   *fileSecret `yaml:"smtp" doc:"email: where the server's address is: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465."`
	From   string      `yaml:"from" doc:"email: address of the sender; default cronce@ and the name of the machine."`
	To     []string    `yaml:"to" doc:"email: addresses of the recipients."`
	Jobs   []string    `yaml:"jobs" doc:"Only incidents of these jobs are sent: IDs, or patterns with * and ?. Default: every job."`
	On     []string    `yaml:"on" doc:"Only incidents of these causes are sent: dead, missed, late, unplanned, overdue. Default: every cause."`
	After  int         `yaml:"after" doc:"How many problems an incident must have before its first notification; default 1."`
	Remind *period     `yaml:"remind" doc:"How often the notification is repeated while the incident is open and not acknowledged. Default: never."`
}

type fileBeat struct {
	URLEnv string `yaml:"urlEnv" doc:"Name of the variable that holds the address." required:"true"`
}

type fileHeartbeat struct {
	URLEnv string  `yaml:"urlEnv" doc:"Name of the variable that holds the address." required:"true"`
	Every  *period `yaml:"every" doc:"How often cronce requests the address; default 1m."`
}

type fileAsync struct {
	Within *span   `yaml:"within" doc:"How long the target may work after its first 202. The default of retry.horizon includes it." required:"true"`
	Poll   *period `yaml:"poll" doc:"The wait before the next request after a 202 without Retry-After; at least 1s, default 1m."`
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
	Name   string `yaml:"name" doc:"Name of the key store in reports." required:"true"`
	URLEnv string `yaml:"urlEnv" doc:"Name of the variable that holds the database's URL." required:"true"`
	Schema string `yaml:"schema" doc:"Schema of the table with the keys (MySQL: database). Default: the one that the connection uses."`
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
