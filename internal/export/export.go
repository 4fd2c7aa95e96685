// Package export generates what runs a registry on AWS: a schedule for each job,
// the function, its queue, roles and alarms. The model of these resources is a
// CloudFormation template. terraform.tf.json.tmpl has the same resources for
// Terraform, and takes from the model what the registry and the options decide.
//
// The template limits the age of events to the values of the registry's platform
// section, because the retention proof assumes them.
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
	// Tick drives the whole registry by one schedule, a tick a minute, instead
	// of a schedule for each job.
	Tick bool
	// Stateless leaves out the ledger, and with it the tick.
	Stateless bool
	// Secrets says where the function finds its secrets; default SecretsManager.
	Secrets Secrets
	// SecretNames is what the names of the secrets begin with: a variable's secret
	// bears that and the variable's name. "": a parameter names each secret.
	SecretNames string
}

// Secrets is where a function finds its secrets.
type Secrets string

const (
	SecretsManager Secrets = "secretsmanager" // parameters are ARNs of secrets
	SSM            Secrets = "ssm"            // parameters are names in the parameter store
	Plain          Secrets = "plain"          // parameters are the secrets, readable in the function's configuration
)

// Limits of AWS that a registry can run into.
const (
	maxFunctionTime   = 15 * time.Minute
	minEventAge       = time.Minute
	maxScheduleAge    = 24 * time.Hour
	maxLambdaEventAge = 6 * time.Hour
	// maxSchedules leaves room for the other resources: a template has 500.
	maxSchedules = 470
	// maxParameters is what a template may ask for.
	maxParameters = 200
	// maxEnvironment is the size of all of a function's variables.
	maxEnvironment = 4096
)

// answerMargin is what a function needs beside its calls.
const answerMargin = 5 * time.Second

// CloudFormation makes the template, or returns an error for everything that AWS
// does not take.
func CloudFormation(r *jobs.Registry, o Options) (*Template, error) {
	t := build(r, o)
	t.limits()
	if len(t.problems) > 0 {
		return nil, errors.Join(t.problems...)
	}
	return t.out, nil
}

// build makes the model of both formats.
func build(r *jobs.Registry, o Options) *template {
	o = o.withDefaults()
	t := &template{reg: r, options: o, out: newTemplate(r.Name()), variables: map[string]string{}}
	t.check()
	t.parameters()
	t.function()
	t.queue()
	t.schedules()
	t.alarms()
	t.names()
	return t
}

// limits refuses what does not fit into one template of CloudFormation.
func (t *template) limits() {
	if n := len(t.out.Parameters); n > maxParameters {
		t.refuse("the registry names so many variables that the template would have %d parameters, and CloudFormation takes %d; share targets, or split the registry", n, maxParameters)
	}
	if t.scheduled > maxSchedules {
		t.refuse("the registry has %d enabled jobs, and a template has room for %d schedules; let a tick drive them (--tick), or split the registry", t.scheduled, maxSchedules)
	}
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
	if o.Secrets == "" {
		o.Secrets = SecretsManager
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
	// secrets are the ARNs of the secrets that the function reads.
	secrets []any
	// scheduled counts the enabled jobs that could have a schedule.
	scheduled int
	// everyMinute: the tick drives jobs, and not only what events left.
	everyMinute bool
}

func (t *template) refuse(format string, args ...any) {
	t.problems = append(t.problems, fmt.Errorf(format, args...))
}

// check refuses options, and ages of events, that AWS does not take.
func (t *template) check() {
	p := t.reg.Platform()
	if p.EventAge < minEventAge || p.EventAge > maxScheduleAge {
		t.refuse("platform.eventAge is %s; EventBridge Scheduler takes 1m to 24h", p.EventAge)
	}
	if p.LambdaEventAge < minEventAge || p.LambdaEventAge > maxLambdaEventAge {
		t.refuse("platform.lambdaEventAge is %s; Lambda takes 1m to 6h", p.LambdaEventAge)
	}
	if a := t.options.Architecture; a != "arm64" && a != "x86_64" {
		t.refuse("unknown architecture %q; valid: arm64, x86_64", a)
	}
	if s := t.options.Secrets; s != SecretsManager && s != SSM && s != Plain {
		t.refuse("unknown place of secrets %q; valid: secretsmanager, ssm, plain", s)
	}
	t.checkSecretNames()
	if t.options.Tick && t.options.Stateless {
		t.refuse("a tick needs the ledger; leave out one of --tick and --stateless")
	}
	if t.options.Stateless {
		for _, p := range t.reg.CheckWithoutLedger() {
			t.refuse("%w", p)
		}
	}
}

// timeouts are the function's: the least, with which one attempt of each job has
// its time, and what is enough for a run with all of its retries, as far as
// Lambda goes.
func (t *template) timeouts() (least, enough time.Duration) {
	least, enough = answerMargin, time.Minute
	for _, j := range t.reg.Jobs() {
		if j.Disabled || onLedger(j) {
			continue // the purge takes what time there is, and goes on next night
		}
		least = max(least, j.Timeout+answerMargin)
		if least > maxFunctionTime {
			t.refuse("job %q: its timeout is %s, and a Lambda runs for %s at most; lower the timeout, or run the job with cronce serve", j.ID, j.Timeout, maxFunctionTime)
			least = maxFunctionTime
		}
		terms := j.HorizonTerms(jobs.Platform{})
		enough = max(enough, terms.Backoff+terms.Timeouts+answerMargin)
	}
	return least.Round(time.Second), min(enough, maxFunctionTime).Round(time.Second)
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
