package jobs

import (
	"encoding/json"
)

// The types of the registry file. The decoder and the JSON Schema are both
// made from them: `yaml` is a field's name, `doc` its description, `enum` its
// values. A pointer tells a value that is written from one that is not.

type document struct {
	Version   *int                   `yaml:"version" doc:"Version of this format; 1." enum:"1"`
	Name      string                 `yaml:"name" doc:"The name of the registry. Targets know the caller by it (the principal of keys), so never change it." required:"true"`
	Targets   map[string]*fileTarget `yaml:"targets" doc:"Services that jobs call, by name."`
	Jobs      []fileJob              `yaml:"jobs" doc:"The scheduled calls."`
	KeyTTLs   []fileTTL              `yaml:"keyTTLs" doc:"How long targets keep keys. An exact scope wins, then the longest matching prefix, then 24h."`
	Platform  *filePlatform          `yaml:"platform" doc:"How late AWS may deliver an event when a Lambda runs jobs."`
	KeyStores []fileStore            `yaml:"keyStores" doc:"Databases whose expired keys the nightly purge removes."`
	Cleanup   *fileCleanup           `yaml:"cleanup" doc:"The built-in nightly purge."`
	Defaults  *fileDefaults          `yaml:"defaults" doc:"Values for every job that does not set its own."`
	Alarm     *fileAlarm             `yaml:"alarm" doc:"When a run is late, as in jobs.alarm; the default of every job. Default never."`
	Channels  []fileChannel          `yaml:"notifications" doc:"Where notifications of incidents are sent; see notifications.md."`
	Heartbeat *fileHeartbeat         `yaml:"heartbeat" doc:"An address that cronce requests regularly while it plans on time; see notifications.md."`
}

type fileTarget struct {
	URLEnv      string    `yaml:"urlEnv" doc:"Name of the environment variable that holds the base URL." required:"true"`
	Auth        *fileAuth `yaml:"auth" doc:"How calls are authorized; default none."`
	TLS         *fileTLS  `yaml:"tls" doc:"How connections are made; default: the system's certificate authorities, no client certificate."`
	AllowHTTP   bool      `yaml:"allowHTTP" doc:"Allow unencrypted http to another machine; default false."`
	MaxInFlight int       `yaml:"maxInFlight" doc:"Maximum calls to this target at once; default: the limit of the process."`
}

type fileAuth struct {
	Type         string                 `yaml:"type" doc:"none; bearer, one token; oauth2, client credentials; basic, a user name and password; headers, fields such as X-Api-Key; jwt, a signed token for each call; hmac, a signature of each call (Standard Webhooks); sigv4, a signature for AWS (IAM)." enum:"none,bearer,oauth2,basic,headers,jwt,hmac,sigv4" required:"true"`
	Token        *fileSecret            `yaml:"token" doc:"bearer: where the token is."`
	TokenURLEnv  string                 `yaml:"tokenUrlEnv" doc:"oauth2: name of the variable that holds the token endpoint's URL."`
	ClientID     *fileSecret            `yaml:"clientId" doc:"oauth2: where the client's id is."`
	ClientSecret *fileSecret            `yaml:"clientSecret" doc:"oauth2: where the client's secret is."`
	Username     *fileSecret            `yaml:"username" doc:"basic: where the user's name is."`
	Password     *fileSecret            `yaml:"password" doc:"basic: where the password is."`
	Headers      map[string]*fileSecret `yaml:"headers" doc:"headers: names of header fields, and where their values are."`
	Key          *fileSecret            `yaml:"key" doc:"jwt: where the private key is, Ed25519 or P-256 in PEM (cronce keys generate)."`
	NextKey      *fileSecret            `yaml:"nextKey" doc:"jwt: where the key is that will replace key at the next rotation; serve publishes it already."`
	Audience     string                 `yaml:"audience" doc:"jwt: the audience that the target expects; default the target's name."`
	Secret       *fileSecret            `yaml:"secret" doc:"hmac: where the secret is: whsec_ and at least 24 bytes in base64."`
	NextSecret   *fileSecret            `yaml:"nextSecret" doc:"hmac: where a second secret is; calls then have a signature of each."`
	Region       string                 `yaml:"region" doc:"sigv4: the AWS region of the target, such as eu-central-1."`
	Service      string                 `yaml:"service" doc:"sigv4: the AWS service that checks the signature: execute-api (API Gateway), lambda (function URLs) and others, not s3."`
	AccessKeyID  *fileSecret            `yaml:"accessKeyId" doc:"sigv4: where the access key's ID is."`
	SecretKey    *fileSecret            `yaml:"secretAccessKey" doc:"sigv4: where the secret access key is."`
	SessionToken *fileSecret            `yaml:"sessionToken" doc:"sigv4: where the session's token is, for temporary credentials."`
}

type fileTLS struct {
	CA   *fileSecret `yaml:"ca" doc:"Where the certificate authorities are, in PEM, that verify the target's certificate. They replace those of the system."`
	Cert *fileSecret `yaml:"cert" doc:"Where the client's certificate is, in PEM, followed by its intermediate certificates."`
	Key  *fileSecret `yaml:"key" doc:"Where the client's private key is, in PEM."`
}

type fileSecret struct {
	Env  string `yaml:"env" doc:"Name of the environment variable that holds the secret. In a Lambda the variable may hold {\"secretsManager\":\"ARN\"} or {\"ssm\":\"NAME\"}."`
	File string `yaml:"file" doc:"Absolute path of the file that holds the secret. A line break at its end is ignored. A changed file is used within a second; if it cannot be read, the last value is kept."`
}

type fileJob struct {
	ID            string            `yaml:"id" doc:"[a-z0-9][a-z0-9._-]{0,63}; part of every run ID." required:"true"`
	Schedule      string            `yaml:"schedule" doc:"Crontab (five fields, or six with seconds first), @every, @hourly and other names, AWS cron(), rate() or at(). See schedules.md." required:"true"`
	Target        string            `yaml:"target" doc:"Name of one of targets; or use targetUrlEnv."`
	TargetURLEnv  string            `yaml:"targetUrlEnv" doc:"Short form of target: name of the variable that holds the base URL. It selects the declared target with that variable, or else a target without authorization."`
	Path          string            `yaml:"path" doc:"Absolute path, joined to the base URL." required:"true"`
	Scopes        []string          `yaml:"scopes" doc:"Authorization scopes that the call's token carries."`
	Method        string            `yaml:"method" doc:"Default POST." enum:"POST,PUT,PATCH,DELETE,GET,HEAD"`
	Timezone      string            `yaml:"timezone" doc:"IANA time zone of the schedule; default UTC."`
	DST           string            `yaml:"dst" doc:"When clocks change: once (default), skip or wall." enum:"once,skip,wall"`
	Body          yamlBody          `yaml:"body" doc:"JSON body of the call, the same on every attempt; a string is JSON text. Strings may have placeholders such as {{scheduledAt}}; see requests.md. Default {jobId, runId, scheduledAt}."`
	Spread        *period           `yaml:"spread" doc:"Delays each run by a fixed time of less than this, in whole seconds, so that jobs with the same scheduled time do not start together; see schedules.md. At most the shortest time between two scheduled times. Default: no delay."`
	Headers       map[string]string `yaml:"headers" doc:"Header fields of the call, the same on every attempt; placeholders as in body. No secrets: they belong to the target's auth."`
	Timeout       *period           `yaml:"timeout" doc:"Time limit of one attempt; default 30s."`
	Retry         *fileRetry        `yaml:"retry" doc:"When a failed call is retried."`
	Overlap       string            `yaml:"overlap" doc:"While an earlier run of the job is unfinished: skip (default), queue or allow." enum:"skip,queue,allow"`
	CatchUp       string            `yaml:"catchUp" doc:"Which scheduled times run late after a time in which no process planned them: none, latest (default) or all." enum:"none,latest,all"`
	CatchUpWindow *period           `yaml:"catchUpWindow" doc:"Scheduled times older than this are not caught up; default 24h."`
	KeyScope      string            `yaml:"keyScope" doc:"Namespace of the key at the target; default route:METHOD_path."`
	MaxInFlight   int               `yaml:"maxInFlight" doc:"Maximum calls of this job at once; default: the limit of the process."`
	Async         *fileAsync        `yaml:"async" doc:"The target may answer 202 Accepted and work on; see long-work.md. Default: a 202 is a success."`
	Alarm         *fileAlarm        `yaml:"alarm" doc:"When a run of this job is late; default that of the registry."`
	Description   string            `yaml:"description" doc:"What the job does, in one line of at most 500 characters."`
	Owner         string            `yaml:"owner" doc:"Who looks after the job: a team or a person, at most 100 characters. Notifications name the owner. Default that of defaults."`
	Labels        map[string]string `yaml:"labels" doc:"Up to 20 names with values, each of at most 63 characters, such as team: billing; jobs list --label filters by them. Those of defaults are added."`
	Heartbeat     *fileBeat         `yaml:"heartbeat" doc:"An address that cronce requests at each run's start and end; see notifications.md. Default none."`
	Enabled       *bool             `yaml:"enabled" doc:"false: the job is not planned; default true."`
}

type fileRetry struct {
	Backoff       *[]delay `yaml:"backoff" doc:"The wait before each retry; default [500ms, 2s, 5s, 30s], [] for none."`
	For           *period  `yaml:"for" doc:"Continues backoff with waits that double up to maxBackoff, as long as all of them add up to at most this; default: backoff is not continued."`
	MaxBackoff    *period  `yaml:"maxBackoff" doc:"Longest wait of the continuation; default 5m."`
	Jitter        *float64 `yaml:"jitter" doc:"Random spread of each wait, as a fraction in both directions; default 0.2."`
	MaxRetryAfter *period  `yaml:"maxRetryAfter" doc:"Longest Retry-After that is honored; default 5m."`
	Horizon       *period  `yaml:"horizon" doc:"How long after its first lease a run may still be sent. Default: the sum of retries, timeouts and platform ages, at least 1h."`
}

type fileDefaults struct {
	Owner  string            `yaml:"owner" doc:"The owner of each job that names none."`
	Labels map[string]string `yaml:"labels" doc:"Labels of every job; a job's own label of the same name wins."`
}

type fileAlarm struct {
	StartWithin  *delay `yaml:"startWithin" doc:"How long after its scheduled time a run may start; 0s: any time."`
	FinishWithin *delay `yaml:"finishWithin" doc:"How long after its scheduled time a run may finish; 0s: any time."`
}

type fileChannel struct {
	Name   string      `yaml:"name" doc:"Name of the channel. Its notifications are runs of the job notify-NAME." required:"true"`
	Type   string      `yaml:"type" doc:"webhook, slack, pagerduty, alertmanager or email." enum:"webhook,slack,pagerduty,alertmanager,email" required:"true"`
	URLEnv string      `yaml:"urlEnv" doc:"webhook, slack, alertmanager: name of the variable that holds the address. pagerduty: default https://events.pagerduty.com."`
	Key    *fileSecret `yaml:"key" doc:"pagerduty: where the integration key is."`
	Secret *fileSecret `yaml:"secret" doc:"webhook: where the secret that signs is: whsec_ and at least 24 bytes in base64; default not signed."`
	SMTP   *fileSecret `yaml:"smtp" doc:"email: where the server's address is: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465."`
	From   string      `yaml:"from" doc:"email: the sender; default cronce@ and the name of the machine."`
	To     []string    `yaml:"to" doc:"email: the addresses."`
	Jobs   []string    `yaml:"jobs" doc:"Only incidents of these jobs: IDs, or patterns with * and ?; default every job."`
	On     []string    `yaml:"on" doc:"Only incidents of these causes: dead, missed, late, unplanned, overdue; default every cause."`
	After  int         `yaml:"after" doc:"How many problems an incident must have before its first notification; default 1."`
	Remind *period     `yaml:"remind" doc:"How often the notification is repeated while the incident is open and not acknowledged; default never."`
}

type fileBeat struct {
	URLEnv string `yaml:"urlEnv" doc:"Name of the variable that holds the address." required:"true"`
}

type fileHeartbeat struct {
	URLEnv string  `yaml:"urlEnv" doc:"Name of the variable that holds the address." required:"true"`
	Every  *period `yaml:"every" doc:"How often cronce requests it; default 1m."`
}

type fileAsync struct {
	Within *span   `yaml:"within" doc:"How long after its first 202 the target may work; part of the default retry.horizon." required:"true"`
	Poll   *period `yaml:"poll" doc:"How long after a 202 without Retry-After the target is asked again; default 1m, at least 1s."`
}

type fileTTL struct {
	Scope string `yaml:"scope" doc:"A key scope, or a prefix followed by *." required:"true"`
	TTL   *span  `yaml:"ttl" doc:"How long the target keeps these keys." required:"true"`
}

type filePlatform struct {
	EventAge       *delay `yaml:"eventAge" doc:"Maximum age of an event in EventBridge; default 1h."`
	LambdaEventAge *delay `yaml:"lambdaEventAge" doc:"Maximum age of an event in Lambda's asynchronous queue; default 1h."`
	QueueAge       *delay `yaml:"queueAge" doc:"Maximum age of a message in an SQS queue before the function; default 0s."`
}

type fileStore struct {
	Name   string `yaml:"name" doc:"Name of the store in reports." required:"true"`
	URLEnv string `yaml:"urlEnv" doc:"Name of the variable that holds the database's URL." required:"true"`
	Schema string `yaml:"schema" doc:"The table's schema; default the connection's."`
}

type fileCleanup struct {
	Schedule        string  `yaml:"schedule" doc:"When the purge runs, in UTC; default 30 3 * * *."`
	Timeout         *period `yaml:"timeout" doc:"Time limit of one purge; default 1h."`
	LedgerRetention *period `yaml:"ledgerRetention" doc:"How long finished runs are kept; default 720h."`
	DeadRetention   *period `yaml:"deadRetention" doc:"How long unacknowledged dead runs are kept; default 2160h."`
	AuditRetention  *period `yaml:"auditRetention" doc:"How long the audit of operators' actions is kept; default 8760h."`
	Enabled         *bool   `yaml:"enabled" doc:"false disables the purge and needs a reason; default true."`
	Reason          string  `yaml:"reason" doc:"Why the purge is disabled."`
}

// yamlBody is a body as JSON; nil when none is written.
type yamlBody json.RawMessage
