// Package export writes what runs a registry on a platform: a CloudFormation
// template with a schedule for each job, the function, its queue and roles.
//
// The template sets how late AWS may deliver an event to what the registry's
// platform section says, since that is what the proof that no key is forgotten
// too soon counts with.
package export

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
)

// Options of a template.
type Options struct {
	// Code is the function's zip, as `aws cloudformation package` finds it.
	Code string
	// Architecture is "arm64" (default) or "x86_64".
	Architecture string
	// Config is the registry's file in the zip; default "cronce.yaml".
	Config string
	// Tick drives the whole registry by one schedule, a tick a minute, which
	// needs a PostgreSQL ledger, instead of a schedule for each job.
	Tick bool
	// Now is the time from which the first instant of a rate is counted.
	Now time.Time
}

// Limits of AWS that a registry can run into.
const (
	maxFunctionTime   = 15 * time.Minute
	minEventAge       = time.Minute
	maxScheduleAge    = 24 * time.Hour
	maxLambdaEventAge = 6 * time.Hour
	// maxSchedules leaves room for the other resources: a template has 500.
	maxSchedules = 480
	// maxParameters is what a template may ask for.
	maxParameters = 200
	// startMargin is how long the deployment of a template may take before
	// the first instant of a rate: AWS refuses a StartDate in the past.
	startMargin = 15 * time.Minute
)

// answerMargin is what a function needs beside its calls.
const answerMargin = 5 * time.Second

// CloudFormation makes the template, or says of every job what AWS cannot
// express about it and what to do instead.
func CloudFormation(r *jobs.Registry, o Options) (*Template, error) {
	o = o.withDefaults()
	t := &template{reg: r, options: o, out: newTemplate(r.Name()), variables: map[string]string{}}
	t.ages()
	t.parameters()
	t.function()
	t.queue()
	t.schedules()
	t.names()
	if len(t.problems) > 0 {
		return nil, errors.Join(t.problems...)
	}
	return t.out, nil
}

func (o Options) withDefaults() Options {
	if o.Architecture == "" {
		o.Architecture = "arm64"
	}
	if o.Config == "" {
		o.Config = "cronce.yaml"
	}
	if o.Code == "" {
		o.Code = "dist/lambda-" + map[string]string{"arm64": "arm64", "x86_64": "amd64"}[o.Architecture] + ".zip"
	}
	return o
}

// template is one that is being made.
type template struct {
	reg      *jobs.Registry
	options  Options
	out      *Template
	problems []error
	// variables are those that the registry names, by their parameters' names.
	variables map[string]string
}

func (t *template) refuse(format string, args ...any) {
	t.problems = append(t.problems, fmt.Errorf(format, args...))
}

// ages refuses what AWS does not take as the age of an event.
func (t *template) ages() {
	p := t.reg.Platform()
	if p.EventAge < minEventAge || p.EventAge > maxScheduleAge {
		t.refuse("platform.eventAge is %s; EventBridge Scheduler takes 1m to 24h", p.EventAge)
	}
	if p.LambdaEventAge < minEventAge || p.LambdaEventAge > maxLambdaEventAge {
		t.refuse("platform.lambdaEventAge is %s; Lambda takes 1m to 6h", p.LambdaEventAge)
	}
	if t.options.Architecture != "arm64" && t.options.Architecture != "x86_64" {
		t.refuse("architecture %q: there are arm64 and x86_64", t.options.Architecture)
	}
}

// timeout is the function's: long enough for a run with all of its retries,
// as far as Lambda goes.
func (t *template) timeout() time.Duration {
	longest := time.Minute
	for _, j := range t.reg.Jobs() {
		if j.Disabled || onLedger(j) {
			continue // the purge takes what time there is, and goes on next night
		}
		if j.Timeout+answerMargin > maxFunctionTime {
			t.refuse("job %q: its timeout is %s, and a Lambda runs for %s at most; lower the timeout, or run the job with cronce serve", j.ID, j.Timeout, maxFunctionTime)
		}
		terms := jobs.Terms(j, jobs.Platform{})
		longest = max(longest, terms.Backoff+terms.Timeouts+answerMargin)
	}
	return min(longest, maxFunctionTime).Round(time.Second)
}

// logicalID makes a name of letters and digits, as CloudFormation wants it.
func logicalID(prefix, name string) string {
	var b strings.Builder
	b.WriteString(prefix)
	up := true
	for _, c := range name {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
		case c >= 'a' && c <= 'z':
			if up {
				c -= 'a' - 'A'
			}
		default:
			up = true
			continue
		}
		up = false
		b.WriteRune(c)
	}
	return b.String()
}
