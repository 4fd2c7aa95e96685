package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
	"github.com/cronce/cronce/targets"
)

// checkJSON is the output of check --json.
type checkJSON struct {
	OK       bool           `json:"ok"`
	Problems []jobs.Problem `json:"problems"`
	Warnings jobs.Problems  `json:"warnings"` // none of them keeps the registry from being run
	Jobs     []checkedJob   `json:"jobs"`
	Zones    string         `json:"zones"` // release of the time zone database
}

// checkedJob is a job or a template in the output of check.
type checkedJob struct {
	ID       string `json:"id"`
	Schedule string `json:"schedule"`
	KeyScope string `json:"keyScope"`
	TTL      string `json:"ttl"`
	Horizon  string `json:"horizon"`
	Redrive  string `json:"redriveWithin"` // of the first lease; empty: a built-in job
	Enabled  bool   `json:"enabled"`
	Next     string `json:"next"`            // empty: never again, or disabled; or a template
	Keyed    int    `json:"keyed,omitempty"` // how many schedules a template can have
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Validate the registry: syntax, schedules, variables, keys",
		Long: `check reports all problems of the registry at once, each with file:line:column
and the fix. For each job it prints the schedule in words, the next scheduled
time, the key scope, the TTL of its keys, the horizon: how long after its first
lease cronce sends a run by itself, and how long after its first lease an
operator can redrive it. The TTL must be more than 5 minutes longer than the
horizon.

In the environment, check also reports what serve refuses of HTTPS_PROXY,
HTTP_PROXY and CRONCE_PUBLIC_URL, and checks the
access file that CRONCE_ACCESS names.

These are warnings ("warnings" of --json): a job whose scheduled times have all
passed, weekdays that are others in Quartz, and a time zone database that is
more than a year old.

--stateless also reports what a Lambda without a ledger cannot run, such as
async.

--live also asks each target how long it keeps keys, with a GET of
/.well-known/idempotency-key-lifetime, or of the path key.lifetime of the
target, and its authorization. A target that keeps them for less time than
keyTTLs says is a problem, and so is one that does not answer. One that does not
say is a warning.

--ledger also reads the schedules that were made at run time, and reports those
that an edit of their template would break: without a field that its path or
body needs, or with data that its schema refuses. A template that has schedules
and is not in the registry is a warning.

Exit 0: valid, with or without warnings. Exit 2: problems. Nothing is started,
and without --live nothing is called.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if c.Flags().Changed("config") {
					return command.Usage("give FILE or --config, not both")
				}
				a.Config = args[0]
			}
			if f.live && f.noEnv {
				return command.Usage("--live asks the targets at the addresses of the environment; remove --no-env")
			}
			return a.check(c.Context(), f)
		},
	}
	c.Flags().BoolVar(&f.noEnv, "no-env", false, "do not look at the environment variables")
	c.Flags().BoolVar(&f.stateless, "stateless", false, "check for a Lambda without a ledger")
	c.Flags().BoolVar(&f.ledger, "ledger", false, "check the schedules in the ledger against their templates")
	c.Flags().BoolVar(&f.live, "live", false, "ask each target how long it keeps keys")
	return c
}

// checkFlags has the flags that widen or narrow what is checked.
type checkFlags struct{ noEnv, stateless, live, ledger bool }

// check reports all problems at once: people mend a file faster with all of them in sight. With --live it asks the
// targets only if nothing else is wrong.
func (a *app) check(ctx context.Context, f checkFlags) error {
	lookup := a.Lookup
	if f.noEnv {
		lookup = nil
	}
	reg, problems := a.CheckRegistry(lookup)
	if f.stateless && reg != nil {
		problems = append(problems, reg.CheckWithoutLedger()...)
		problems.Sort()
	}
	warned := warnings(reg, a.Now())
	add := func(p, w jobs.Problems) { problems, warned = append(problems, p...), append(warned, w...) }
	if !f.noEnv {
		add(a.checkVariables(), nil)
		add(a.checkAccess())
	}
	if f.live && len(problems) == 0 {
		p, w, err := a.checkLive(ctx, reg)
		if err != nil {
			return err
		}
		add(p, w)
	}
	if f.ledger && reg != nil {
		p, w, err := a.checkSchedules(ctx, reg)
		if err != nil {
			return err
		}
		add(p, w)
	}
	if err := a.printCheck(reg, problems, warned); err != nil {
		return err
	}
	if len(problems) > 0 {
		return command.ExitWith(command.ExitUsage)
	}
	return nil
}

// checkVariables reports what serve refuses of the variables that name proxies and the public URL.
func (a *app) checkVariables() (problems jobs.Problems) {
	if _, err := targets.EnvironmentProxy(a.Lookup); err != nil {
		proxies, _ := errors.AsType[jobs.Problems](err) // it is one
		problems = append(problems, proxies...)
	}
	text, set := a.Lookup(command.EnvPublicURL)
	switch {
	case !set || command.ValidPublicURL(text):
	case strings.TrimSpace(text) == "":
		problems = append(problems, jobs.Problem{Code: jobs.CodeUnsetVariable,
			Message: command.EnvPublicURL + " is empty; give it a value, or unset it"})
	default:
		problems = append(problems, jobs.Problem{Code: jobs.CodeBadURL, Message: command.InvalidPublicURL(command.EnvPublicURL)})
	}
	return problems
}

// checkAccess reports what serve refuses of the access file that the environment names,
// and what it warns of.
func (a *app) checkAccess() (problems, weak jobs.Problems) {
	file := a.Getenv("CRONCE_ACCESS", "")
	if file == "" {
		return nil, nil
	}
	f, err := access.Open(file)
	if err != nil {
		return jobs.Problems{{Code: jobs.CodeBadValue, Message: "CRONCE_ACCESS: " + err.Error()}}, nil
	}
	if text := f.Warning(); text != "" {
		weak = jobs.Problems{{Code: jobs.CodeBadValue, Message: file + ": " + text}}
	}
	return nil, weak
}

// printCheck prints the jobs of a sound file, and then the problems and warnings to standard error.
func (a *app) printCheck(reg *jobs.Registry, problems, warned jobs.Problems) error {
	if a.Encoded() {
		return a.Encode(checkJSON{
			OK: len(problems) == 0, Problems: append([]jobs.Problem{}, problems...), Warnings: warned, Jobs: checkedJobs(reg, a.Now()),
			Zones: schedule.ZoneVersion(),
		})
	}
	if reg != nil {
		t := a.Table("JOB", "SCHEDULE", "NEXT", "KEY SCOPE", "KEYS LIVE", "HORIZON", "REDRIVE").
			Optional("REDRIVE", "NEXT", "SCHEDULE", "KEYS LIVE", "HORIZON", "KEY SCOPE").Folding("SCHEDULE")
		for _, j := range checkedJobs(reg, a.Now()) {
			t.Row(j.ID, j.Schedule, nextText(j), cmp.Or(j.KeyScope, "-"), cmp.Or(j.TTL, "-"), j.Horizon,
				cmp.Or(j.Redrive, "-"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	a.PrintProblems(problems)
	for _, w := range warned {
		fmt.Fprintln(a.Err, "warning:", plaintext.Lines(w.Error()))
	}
	if len(problems) > 0 {
		_, err := fmt.Fprintf(a.Err, "%s; nothing was started\n", plural.Of(len(problems), "problem"))
		return err
	}
	_, err := fmt.Fprintf(a.Out, "ok: %s, time zones %s\n", plural.Of(reg.Len()+len(reg.Templates()), "job"), schedule.ZoneVersion())
	return err
}

func nextText(j checkedJob) string {
	if j.Keyed > 0 && j.Enabled {
		return "-"
	}
	return command.NextText(j.Next, j.Enabled)
}

// warnings returns the warnings about a registry. A registry whose file is not sound (nil) has none.
func warnings(reg *jobs.Registry, now time.Time) jobs.Problems {
	if reg == nil {
		return jobs.Problems{}
	}
	return reg.Warnings(now)
}

func checkedJobs(reg *jobs.Registry, now time.Time) []checkedJob {
	out := []checkedJob{}
	if reg == nil {
		return out
	}
	for j := range reg.JobsAndTemplates() {
		c := checkedJob{ID: j.ID, Horizon: plural.Duration(j.Retry.Horizon), Enabled: !j.Disabled}
		if t, is := reg.Template(j.ID); is {
			c.Schedule, c.Keyed = fmt.Sprintf("made at run time, up to %d", t.Max), t.Max
		} else {
			c.Schedule, c.Next = j.ParsedSchedule().Describe(), operations.NextOf(j, now)
		}
		if j.Target != jobs.BuiltinTarget { // a built-in job has no key at a target
			ttl, _ := reg.TTL(j.KeyScope)
			c.KeyScope, c.TTL, c.Redrive = j.KeyScope, plural.Duration(ttl), plural.Duration(j.KeySafeFor())
		}
		out = append(out, c)
	}
	return out
}
