// Package export generates what runs a registry on AWS: a schedule for each job,
// the function, its queue, roles and alarms. cloudformation.json.tmpl and
// terraform.tf.json.tmpl have the same resources. What the registry and the options
// decide is filled in from one plan.
//
// The templates limit the age of events to the values of the registry's platform
// section, because the retention proof assumes them.
package export

import (
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

// Secrets is the service in which a function finds its secrets.
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
	// maxParameters is the number of parameters that a template may have.
	maxParameters = 200
	// maxEnvironment is the size of all of a function's variables.
	maxEnvironment = 4096
)

// answerMargin is the time that a function needs beside its calls: to start, to send
// notifications, to record and to answer.
const answerMargin = 7 * time.Second

// newPlan decides what both templates need, and finds what AWS refuses.
func newPlan(r *jobs.Registry, o Options) *plan {
	o = o.withDefaults()
	p := &plan{Options: o, reg: r, Registry: r.Name(), byID: map[string]string{}}
	p.EventAge, p.LambdaEventAge = seconds(r.Platform().EventAge), seconds(r.Platform().LambdaEventAge)
	p.check()
	least, enough := p.timeouts()
	p.LeastTimeout, p.Timeout = seconds(least), seconds(enough)
	p.environment()
	p.schedules()
	p.TickPeriod = seconds(3 * p.tickEvery())
	return p
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

// plan holds the values that the templates print.
type plan struct {
	Options
	Registry                 string // its name
	Timeout, LeastTimeout    int    // of the function, in seconds
	EventAge, LambdaEventAge int    // in seconds
	TickPeriod               int    // seconds within which a tick must have finished
	Variables                []variable
	Environment              []setting
	SecretAction             string   // reads a secret
	SecretARNs               []string // of the secrets that the function reads; see setting
	Schedules                []entry
	ticked                   []Ticked
	reg                      *jobs.Registry
	problems                 []error
	byID                     map[string]string // variables of the registry, by their parameters' names
	size                     int               // about that of the function's variables
	scheduled                int               // enabled jobs that could have a schedule
	everyMinute              bool              // the tick drives jobs, and not only what events left
}

// variable is a parameter of the templates, for a variable of the function.
type variable struct {
	ID, Description string
	Pattern         string // of its values; "": any that is not empty
	Plain           bool   // it holds a secret
}

// setting is a variable of the function. ${ID} in its value is a parameter, or what
// CloudFormation knows without one.
type setting struct{ Name, Value string }

// entry is a schedule. Its ID names the resource, its Name the schedule in the group.
type entry struct{ ID, Name, Description, Expression, Timezone, Input string }

// Ticked is a job that the tick drives, and why.
type Ticked struct {
	JobID, Schedule string
	Why             error
}

func (p *plan) refuse(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf(format, args...))
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// check refuses options, and ages of events, that AWS does not take.
func (p *plan) check() {
	ages := p.reg.Platform()
	if ages.EventAge < minEventAge || ages.EventAge > maxScheduleAge {
		p.refuse("platform.eventAge is %s; EventBridge Scheduler takes 1m to 24h", ages.EventAge)
	}
	if ages.LambdaEventAge < minEventAge || ages.LambdaEventAge > maxLambdaEventAge {
		p.refuse("platform.lambdaEventAge is %s; Lambda takes 1m to 6h", ages.LambdaEventAge)
	}
	if a := p.Architecture; a != "arm64" && a != "x86_64" {
		p.refuse("unknown architecture %q; valid: arm64, x86_64", a)
	}
	if s := p.Secrets; s != SecretsManager && s != SSM && s != Plain {
		p.refuse("unknown place of secrets %q; valid: secretsmanager, ssm, plain", s)
	}
	p.checkSecretNames()
	if p.Tick && p.Stateless {
		p.refuse("a tick needs the ledger; leave out one of --tick and --stateless")
	}
	if p.Stateless {
		for _, problem := range p.reg.CheckWithoutLedger() {
			p.refuse("%w", problem)
		}
	}
}

// timeouts are the function's: the least, with which one attempt of each job has
// its time, and what is enough for a run with all of its retries, as far as
// Lambda goes.
func (p *plan) timeouts() (least, enough time.Duration) {
	least, enough = answerMargin, time.Minute
	for _, j := range p.reg.Jobs() {
		if j.Disabled || onLedger(j) {
			continue // the purge takes what time there is, and goes on next night
		}
		least = max(least, j.Timeout+answerMargin)
		if least > maxFunctionTime {
			p.refuse("job %q: its timeout is %s, and a Lambda runs for %s at most; lower the timeout, or run the job with cronce serve", j.ID,
				j.Timeout, maxFunctionTime)
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
