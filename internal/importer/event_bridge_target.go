package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plural"
)

func (e *entry) awsTarget(t awsTarget, destinations map[string]awsObject) error {
	if d := t.DeadLetterConfig; d != nil && d.Arn != "" {
		e.note(Retries,
			"the dead-letter queue is not used; a dead run stays in the ledger with its reason (cronce runs list --state dead) and "+
				"opens an incident")
	}
	if err := e.awsCall(t, destinations); err != nil {
		return err
	}
	e.awsRetries(t)
	return e.awsBody(t)
}

func (e *entry) awsRetries(t awsTarget) {
	attempts, age := "", plural.Duration(24*time.Hour)
	if n := t.RetryPolicy.MaximumEventAgeInSeconds; n > 0 {
		age = plural.Duration(time.Duration(n) * time.Second)
	}
	if n := t.RetryPolicy.MaximumRetryAttempts; n != nil {
		if *n == 0 {
			e.noRetries()
			return
		}
		attempts = plural.Of(*n, "time") + " and "
	}
	e.note(Retries, "AWS retries %sfor up to %s; the job retries after 500ms, 2s, 5s and 30s, and is then dead and visible", attempts, age)
}

// awsBody takes over the body. One that AWS would make of the event is an error, unless a person must
// complete the job anyway.
func (e *entry) awsBody(t awsTarget) error {
	bodiless := e.call.method == "GET" || e.call.method == "HEAD"
	switch {
	// A call that could be made at once must be right; a placeholder is completed by a person.
	case t.InputTransformer != nil && e.placeholder == "":
		return errors.New("the target has an InputTransformer; cronce sends a fixed body")
	case t.InputTransformer != nil:
		e.note(Body, "InputTransformer is not taken over")
	case t.InputPath != "":
		e.note(Body, "InputPath is not taken over")
	case strings.Contains(t.Input, "<aws.scheduler.") && e.placeholder == "":
		return errors.New("the input has placeholders of AWS (<aws.scheduler...>); cronce sends a fixed body")
	case strings.Contains(t.Input, "<aws.scheduler."), t.Input != "" && bodiless:
		e.note(Body, "the Input is not taken over")
	case t.Input != "":
		e.call.data, e.call.hasData, e.call.jsonType = []word{literal(t.Input)}, true, true
	case e.placeholder == "" && !bodiless:
		e.note(Body, "AWS sends its event as the body; cronce sends {jobId, runId, scheduledAt}")
	}
	return nil
}

var (
	apiDestination = regexp.MustCompile(`^arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]*:api-destination/`)
	apiGateway     = regexp.MustCompile(`^arn:aws[a-z-]*:execute-api:([a-z0-9-]+):[0-9]*:([a-z0-9]+)/([^/]+)/([A-Z]+)/(.*)$`)
	awsService     = regexp.MustCompile(`^arn:aws[a-z-]*:(?:scheduler:::)?([a-z0-9-]+(?::[A-Za-z0-9]+:[A-Za-z0-9]+$)?)`)
	awsReceiver    = regexp.MustCompile(`^arn:aws[a-z-]*:(?:lambda|sns|sqs|states):[a-z0-9-]*:[0-9]*:(?:function:|stateMachine:)?[^:]+`)
)

// awsCall reads what HTTP request a target is. Other targets are placeholders.
func (e *entry) awsCall(t awsTarget, destinations map[string]awsObject) error {
	if m := apiGateway.FindStringSubmatch(t.Arn); m != nil {
		// The target names the API. Its address follows from the ARN, unless it has a domain of its own.
		domain := "amazonaws.com"
		if strings.HasPrefix(t.Arn, "arn:aws-cn:") {
			domain += ".cn"
		}
		e.call.method, e.call.sigv4 = m[4], [2]string{m[1], "execute-api"}
		e.call.url = literal(fmt.Sprintf("https://%s.execute-api.%s.%s/%s/%s", m[2], m[1], domain, m[3], m[5]))
		e.note(Network, "the target is called at its public address with a signature (sigv4) of credentials that cronce needs")
		return e.awsParameters(t)
	}
	if !apiDestination.MatchString(t.Arn) {
		service := "an AWS service"
		if m := awsService.FindStringSubmatch(t.Arn); m != nil {
			service = m[1]
		}
		if m := awsReceiver.FindString(t.Arn); m != "" {
			e.receiver = m
		}
		e.placeholder = fmt.Sprintf("the source calls %s, and cronce calls HTTP endpoints", service)
		return nil
	}
	d, known := destinations[t.Arn]
	if !known {
		e.placeholder = "the source calls an API destination that is not in the files (aws events describe-api-destination prints it)"
		return nil
	}
	e.call.method, e.call.url = cmp.Or(d.HttpMethod, "POST"), literal(d.InvocationEndpoint)
	e.job.disabled = true
	e.note(Secrets,
		"the job is disabled: the credentials are in the connection of EventBridge and are not exported; give the target auth and "+
			"remove enabled: false")
	return e.awsParameters(t)
}

// awsParameters puts path, query and headers into the call.
func (e *entry) awsParameters(t awsTarget) error {
	p := t.HttpParameters
	text, _ := e.call.url.literal(nil)
	for _, value := range p.PathParameterValues {
		text = strings.Replace(text, "*", url.PathEscape(value), 1)
	}
	if strings.Contains(text, "*") {
		return errors.New("the path has a * without a value in PathParameterValues")
	}
	query := url.Values{}
	for name, value := range p.QueryStringParameters {
		query.Set(name, value)
	}
	text = withQuery(text, query.Encode())
	e.call.url = literal(text)
	for _, name := range slices.Sorted(maps.Keys(p.HeaderParameters)) {
		e.header(name, literal(p.HeaderParameters[name]))
	}
	if e.call.sigv4[0] != "" && len(e.call.headers) > 0 {
		return errors.New("the call has a signature and secret headers; a target has one kind of authorization")
	}
	return nil
}
