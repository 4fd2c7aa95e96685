package importer

import (
	"cmp"
	"encoding/base64"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/schedule"
)

// cloudJob is a job of Google Cloud Scheduler, as "gcloud scheduler jobs list" prints it.
type cloudJob struct {
	Name            string      `json:"name"`
	Schedule        string      `json:"schedule"`
	TimeZone        string      `json:"timeZone"`
	Description     string      `json:"description"`
	State           string      `json:"state"`
	AttemptDeadline string      `json:"attemptDeadline"`
	HTTP            *cloudHTTP  `json:"httpTarget"`
	PubSub          *struct{}   `json:"pubsubTarget"`
	AppEngine       *struct{}   `json:"appEngineHttpTarget"`
	Retry           *cloudRetry `json:"retryConfig"`
}

type cloudHTTP struct {
	URI     string            `json:"uri"`
	Method  string            `json:"httpMethod"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"` // base64
	OIDC    *struct{}         `json:"oidcToken"`
	OAuth   *struct{}         `json:"oauthToken"`
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
		e := &entry{file: o.file, line: o.line, name: j.Name[strings.LastIndexByte(j.Name, '/')+1:]}
		b.take(e, b.cloudJob(e, j))
		return nil
	}, "jobs")
}

var everyInterval = regexp.MustCompile(`^every ([1-9][0-9]{0,4}) (minutes?|mins?|hours?)$`)

func (b *builder) cloudJob(e *entry, j cloudJob) error {
	e.describe(j.Description)
	e.job.schedule, e.job.timezone = j.Schedule, cmp.Or(j.TimeZone, "Etc/UTC")
	if e.job.timezone == "Etc/UTC" {
		e.job.timezone = "UTC"
	}
	if m := everyInterval.FindStringSubmatch(j.Schedule); m != nil {
		e.job.schedule = "@every " + m[1] + m[2][:1]
		e.note(Times, "the period counts from 1970-01-01T00:00:00Z, not from the end of the last run")
	} else if strings.HasPrefix(j.Schedule, "every ") {
		return errors.New("the schedule is in App Engine's syntax; write it as a crontab expression")
	}
	s, err := schedule.Parse(e.job.schedule, e.job.timezone, "")
	if err != nil {
		return err
	}
	if s.Location().String() != "UTC" {
		e.note(ClockChange,
			"once: a time in the skipped hour fires at its end, a time in the repeated hour fires the first time; Google does not document its rule")
	}
	e.job.disabled = j.State == "PAUSED" || j.State == "DISABLED"
	e.job.overlap = "skip"
	e.note(MissedTimes, "scheduled times that pass while cronce is down are caught up: the latest one, for 24h")
	switch {
	case j.PubSub != nil:
		e.placeholder = "the source publishes to Pub/Sub, and cronce calls HTTP endpoints"
	case j.AppEngine != nil:
		e.placeholder = "the source calls an App Engine service, whose URL the dump does not have"
	case j.HTTP == nil:
		return errors.New("the job has no target; dump with gcloud scheduler jobs describe JOB --format=json")
	default:
		return e.cloudCall(j)
	}
	return nil
}

func (e *entry) cloudCall(j cloudJob) error {
	e.call.url, e.call.method = literal(j.HTTP.URI), cmp.Or(j.HTTP.Method, "POST")
	for _, name := range slices.Sorted(maps.Keys(j.HTTP.Headers)) {
		e.header(name, literal(j.HTTP.Headers[name]))
	}
	if j.HTTP.Body != "" {
		body, err := base64.StdEncoding.DecodeString(j.HTTP.Body)
		if err != nil {
			return errors.New("the body is not base64")
		}
		e.call.data, e.call.hasData = []word{literal(string(body))}, true
	}
	if d, err := time.ParseDuration(j.AttemptDeadline); err == nil {
		e.limit(d)
	} else {
		e.limit(3 * time.Minute) // Google's default
	}
	if j.HTTP.OIDC != nil || j.HTTP.OAuth != nil {
		e.job.disabled = true
		e.note(Secrets,
			"the job is disabled: cronce has no token of a Google service account; give the target auth (type jwt or oauth2) and "+
				"remove enabled: false")
	}
	return e.cloudRetries(j.Retry)
}

func (e *entry) cloudRetries(r *cloudRetry) error {
	if r == nil || r.Count == 0 {
		e.noRetries()
		if r != nil && r.Longest != "" && r.Longest != "0s" {
			e.notes[len(e.notes)-1].text = "maxRetryDuration without retryCount is not taken over; the job does not retry"
		}
		return nil
	}
	first, longest := 5*time.Second, time.Hour
	for text, to := range map[*string]*time.Duration{&r.MinBackoff: &first, &r.MaxBackoff: &longest} {
		if *text == "" {
			continue
		}
		d, err := time.ParseDuration(*text)
		if err != nil || d < 0 || d > 24*time.Hour {
			return errors.New("a duration of retryConfig cannot be read")
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
