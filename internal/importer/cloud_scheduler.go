package importer

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/schedule"
)

// cloudJob is a job of Google Cloud Scheduler, as "gcloud scheduler jobs list" prints it.
type cloudJob struct {
	Name            string       `json:"name"`
	Schedule        string       `json:"schedule"`
	TimeZone        string       `json:"timeZone"`
	Description     string       `json:"description"`
	State           string       `json:"state"`
	AttemptDeadline string       `json:"attemptDeadline"`
	HTTP            *cloudHTTP   `json:"httpTarget"`
	AppEngine       *cloudHTTP   `json:"appEngineHttpTarget"`
	PubSub          *cloudPubSub `json:"pubsubTarget"`
	Retry           *cloudRetry  `json:"retryConfig"`
}

// cloudHTTP is an HTTP target, or one of App Engine.
type cloudHTTP struct {
	URI         string                `json:"uri"`
	RelativeURI string                `json:"relativeUri"` // of App Engine
	Routing     struct{ Host string } `json:"appEngineRouting"`
	Method      string                `json:"httpMethod"`
	Headers     map[string]string     `json:"headers"`
	Body        string                `json:"body"` // base64
	OIDC        *struct{}             `json:"oidcToken"`
	OAuth       *struct{}             `json:"oauthToken"`
}

type cloudPubSub struct {
	Topic      string            `json:"topicName"`
	Data       string            `json:"data"` // base64
	Attributes map[string]string `json:"attributes"`
}

type cloudRetry struct {
	Count      int    `json:"retryCount"`
	Longest    string `json:"maxRetryDuration"`
	MinBackoff string `json:"minBackoffDuration"`
	MaxBackoff string `json:"maxBackoffDuration"`
	Doublings  *int   `json:"maxDoublings"`
}

// cloudScheduler reads what gcloud scheduler jobs list or describe prints as JSON.
func (b *builder) cloudScheduler(files []File) error {
	return each(files, func(o object, j cloudJob) error {
		e := &entry{file: o.file, line: o.line, name: lastSegment(j.Name), origin: j.Name}
		b.take(e, e.cloudJob(j))
		return nil
	}, "jobs")
}

func lastSegment(name string) string { return name[strings.LastIndexAny(name, "/:")+1:] }

func (e *entry) cloudJob(j cloudJob) error {
	e.describe(j.Description)
	if err := e.cloudTimes(j); err != nil {
		return err
	}
	switch j.State {
	case "", "ENABLED":
	case "PAUSED", "DISABLED":
		e.job.disabled = true
	default:
		e.job.disabled = true
		e.note(Effects, "the job is disabled: its state is %s", printable(j.State))
	}
	e.job.overlap = "skip"
	e.note(Overlaps, "Google delays a run until the last one has ended; cronce skips it (overlap: skip), or delays it (overlap: queue)")
	e.note(MissedTimes, "scheduled times that pass while cronce is down are caught up: the latest one, for 24h")
	if err := e.cloudTarget(j); err != nil {
		return err
	}
	return e.cloudRetries(j.Retry)
}

var everyInterval = regexp.MustCompile(`^every ([1-9][0-9]{0,4}) (minutes?|mins?|hours?)$`)

// cloudTimes takes over the schedule, which is a crontab expression or an interval in words.
func (e *entry) cloudTimes(j cloudJob) error {
	e.job.schedule, e.job.timezone = j.Schedule, cmp.Or(j.TimeZone, "UTC")
	if zone := e.job.timezone; zone == "Etc/UTC" || strings.EqualFold(zone, "UTC") { // Google documents "utc"
		e.job.timezone = "UTC"
	}
	if m := everyInterval.FindStringSubmatch(j.Schedule); m != nil {
		e.job.schedule = "@every " + m[1] + m[2][:1]
		e.note(Times, "the period counts from 1970-01-01T00:00:00Z, not from the end of the last run")
	} else if strings.HasPrefix(j.Schedule, "every ") {
		return errors.New("the schedule is in App Engine's syntax; write it as a crontab expression")
	} else if n := len(strings.Fields(j.Schedule)); n != 5 {
		return fmt.Errorf("the schedule has %s, and Google's has five", plural.Of(n, "field"))
	}
	s, err := schedule.Parse(e.job.schedule, e.job.timezone, "")
	if err == nil && s.Location() != time.UTC {
		e.note(ClockChange,
			"once: a time in the skipped hour fires at its end, a time in the repeated hour fires the first time; Google does not document its rule")
	}
	return err
}

// cloudTarget reads what the job calls.
func (e *entry) cloudTarget(j cloudJob) error {
	switch {
	case j.PubSub != nil:
		e.placeholder, e.receiver = "the source publishes to Pub/Sub, and cronce calls HTTP endpoints", j.PubSub.Topic
		if len(j.PubSub.Attributes) > 0 {
			e.note(Headers, "the attributes of the message are not taken over")
		}
		return e.cloudBody(j.PubSub.Data)
	case j.AppEngine != nil && j.AppEngine.Routing.Host == "":
		e.placeholder = "the source calls an App Engine service, whose host the dump does not have"
		return e.cloudBody(j.AppEngine.Body)
	case j.AppEngine != nil:
		e.job.disabled = true
		e.note(Secrets, "the job is disabled: App Engine trusts headers that only Google can send; let the service trust cronce's, give the "+
			"target auth, and remove enabled: false")
		j.AppEngine.URI = "https://" + j.AppEngine.Routing.Host + "/" + strings.TrimPrefix(j.AppEngine.RelativeURI, "/")
		return e.cloudCall(*j.AppEngine, j.AttemptDeadline, 10*time.Minute)
	case j.HTTP != nil:
		return e.cloudCall(*j.HTTP, j.AttemptDeadline, 3*time.Minute)
	}
	return errors.New("the job has no target; dump with gcloud scheduler jobs describe JOB --format=json")
}

// cloudCall reads a call that Google ends after a deadline, by default after most.
func (e *entry) cloudCall(h cloudHTTP, deadline string, most time.Duration) error {
	e.call.url, e.call.method = literal(h.URI), cmp.Or(h.Method, "POST")
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		e.header(name, literal(h.Headers[name]))
	}
	e.note(Headers, "the headers X-CloudScheduler, X-CloudScheduler-JobName and X-CloudScheduler-ScheduleTime are not sent; "+
		"Cronce-Scheduled-At is")
	if deadline != "" {
		d, err := time.ParseDuration(deadline)
		if err != nil || d <= 0 {
			return errors.New("the attemptDeadline is invalid; use seconds, such as 180s")
		}
		most = d
	}
	e.limit(most)
	if h.OIDC != nil || h.OAuth != nil {
		e.job.disabled = true
		e.note(Secrets,
			"the job is disabled: cronce has no token of a Google service account; give the target auth (type jwt or oauth2) and "+
				"remove enabled: false")
	}
	return e.cloudBody(h.Body)
}

func (e *entry) cloudBody(text string) error {
	if text == "" {
		return nil
	}
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return errors.New("the body is not base64")
	}
	e.call.data, e.call.hasData = []word{literal(string(body))}, true
	return nil
}

// cloudRetries takes over the waits as a list, and notes the limits that a list cannot have.
func (e *entry) cloudRetries(r *cloudRetry) error {
	if r == nil || r.Count <= 0 {
		e.noRetries()
		if r != nil && r.Longest != "" && r.Longest != "0s" {
			e.notes[len(e.notes)-1].text = "maxRetryDuration without retryCount is not taken over; the job does not retry"
		}
		return nil
	}
	first, longest := 5*time.Second, time.Hour // Google's defaults
	for text, to := range map[*string]*time.Duration{&r.MinBackoff: &first, &r.MaxBackoff: &longest} {
		if *text == "" {
			continue
		}
		d, err := time.ParseDuration(*text)
		if err != nil || d < 0 || d > 24*time.Hour {
			return errors.New("a duration of retryConfig is invalid; use seconds, such as 5s")
		}
		*to = d
	}
	e.retry(r.Count, max(first, time.Millisecond), max(longest, time.Millisecond))
	if r.Longest != "" && r.Longest != "0s" {
		e.note(Retries, "maxRetryDuration is not taken over; the list of waits ends the retries")
	}
	if r.Doublings != nil && *r.Doublings < r.Count {
		e.note(Retries, "maxDoublings %d is not taken over; each wait is twice the one before, up to %s", *r.Doublings, longest)
	}
	return nil
}
