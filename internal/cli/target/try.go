package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
	"github.com/cronce/cronce/targets/try"
)

// tryFlags has the flags of try: those of a job, those of a URL, and those of both. check refuses a mixture.
type tryFlags struct {
	at, from, to                               string
	url, method, path, body, changed, tokenEnv string
	timeout                                    time.Duration
	yes                                        bool
}

func (a *app) tryCommand() *cobra.Command {
	var f tryFlags
	c := &cobra.Command{
		Use:   "try {JOB [--at TIME | --from TIME --to TIME] | --url URL}",
		Short: "Make a job's call now, and check how its target treats the key",
		Long: `try makes the call of a job as the scheduler makes it: the same key, body,
headers and authorization. It needs no ledger and does not wait. It sends the
call three times at once and loses one answer on purpose, sends it again, with a
changed body, and without a key: 6 calls, or 3 if the first fail. It reports
what the target answered, and where that breaks a rule of idempotent targets.

Without --at the key is that of a triggered run, which no other run has. With
--at it is the key of the run of that scheduled time: if the time is still to
come, the scheduler's own run will find the key used, and have no effect.

With --from and --to, try makes the call of each scheduled time between them
twice, such as all of a month in which the clocks change.

WARNING: these are real calls with real effects. Use a test environment. Nothing
is written to the ledger. On a terminal try asks first; --yes answers.

A URL must be https, or http to this machine.

Exit 0: no fault found. Exit 1: a fault found, or no clear answer. No exit code
says that the target is idempotent: try sees answers and no effects, and tries
no crashes. Test that with conform.`,
		Example: `  cronce try release-commission-locks
  cronce try release-commission-locks --from 2026-03-01 --to 2026-04-01
  cronce try --url http://127.0.0.1:8080/v1/payments --body '{"cents":1}' --token-env TOKEN`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c.Flags().Changed, args); err != nil {
				return err
			}
			if f.url != "" {
				return a.tryURL(c.Context(), f)
			}
			if !c.Flags().Changed("timeout") {
				f.timeout = 0 // the job's own
			}
			return a.tryJob(c.Context(), args[0], f)
		},
	}
	c.Flags().StringVar(&f.at, "at", "", "the scheduled `time` whose key the calls have ("+command.TimeHelp+")")
	c.Flags().StringVar(&f.from, "from", "", "the `time` from which each scheduled time is called")
	c.Flags().StringVar(&f.to, "to", "", "the `time` before which each scheduled time is called")
	c.Flags().StringVar(&f.url, "url", "", "a `URL` instead of a job")
	c.Flags().StringVar(&f.method, "method", "POST", "the `method` for the URL: POST, PUT, PATCH or DELETE")
	c.Flags().StringVar(&f.path, "path", "", "a `path` and query under the URL")
	c.Flags().StringVar(&f.body, "body", "", "what to send to the URL, as `JSON` (default the body that jobs send)")
	c.Flags().StringVar(&f.tokenEnv, "token-env", "", "a `variable` that holds a bearer token for the URL")
	c.Flags().StringVar(&f.changed, "changed-body", "", "the other body, as `JSON`, where the target would not take one more field")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before the calls")
	c.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "time limit of each call (default for a JOB: its own)")
	return c
}

// check refuses flags that do not belong together.
func (f tryFlags) check(changed func(string) bool, args []string) error {
	if f.url != "" && len(args) > 0 {
		return command.Usage("give a job of the registry or --url, not both")
	}
	owners := map[string]string{"method": "--url", "path": "--url", "body": "--url", "token-env": "--url", "at": "a JOB",
		"from": "a JOB", "to": "a JOB"}
	for _, name := range []string{"method", "path", "body", "token-env", "at", "from", "to"} {
		if owner := owners[name]; changed(name) && (owner == "--url") != (f.url != "") {
			return command.Usage("--%s belongs to %s", name, owner)
		}
	}
	switch {
	case f.url == "" && len(args) == 0:
		return command.Usage("name the job to try, or a --url; \"cronce next\" lists the jobs")
	case (f.from == "") != (f.to == ""):
		return command.Usage("--from and --to belong together")
	case f.from != "" && (f.at != "" || f.changed != ""):
		return command.Usage("--at and --changed-body do not go with --from and --to")
	}
	return nil
}

// tryJob tries a job of the registry, at one scheduled time or at each between two.
func (a *app) tryJob(ctx context.Context, id string, f tryFlags) error {
	reg, err := a.Registry()
	if err != nil {
		return err
	}
	if _, is := reg.Template(id); is {
		return command.Usage("%s is a template; try takes a job of the registry, and \"cronce trigger %[1]s:KEY\" calls one of its schedules", id)
	}
	j, err := backend.Job(reg, id)
	if err != nil {
		return err
	}
	if j.Target == jobs.BuiltinTarget {
		return command.Usage("%s is built in: it calls no target", id)
	}
	if f.timeout != 0 {
		j.Timeout = f.timeout
	}
	ttl, _ := reg.TTL(j.KeyScope)
	if reg, err = onlyTarget(reg, j); err != nil {
		return err
	}
	c := try.Config{Job: j, TTL: ttl, ChangedBody: f.changed, Now: a.Now()}
	if c.At, err = command.TimeOrAge("--at", f.at, c.Now); err != nil {
		return err
	}
	if f.from != "" {
		return a.tryTimes(ctx, reg, c, f)
	}
	return a.try(ctx, reg, a.Lookup, c, f.yes)
}

// onlyTarget returns a registry with the job's target alone, so that the variables of other targets need not be set.
func onlyTarget(reg *jobs.Registry, j jobs.Job) (*jobs.Registry, error) {
	t, _ := reg.Target(j.Target)
	if jobs.ValidJobID(t.Name) {
		return jobs.NewRegistry(jobs.Name(reg.Name()), t)
	}
	return jobs.NewRegistry(jobs.Name(reg.Name()), jobs.Job{ID: j.ID, Schedule: j.Schedule, TargetURLEnv: t.URLEnv, Path: j.Path})
}

// tryURL tries a URL, for which it makes a registry of one job.
func (a *app) tryURL(ctx context.Context, f tryFlags) error {
	u := try.AdHocTarget{URL: f.url, Method: f.method, Path: f.path, Body: f.body, TokenEnv: f.tokenEnv, Timeout: f.timeout}
	reg, c, lookup, err := u.Registry(a.Lookup)
	if err != nil {
		return command.Usage("%w", err)
	}
	c.ChangedBody, c.Now = f.changed, a.Now()
	return a.try(ctx, reg, lookup, c, f.yes)
}

// try makes the calls of one key after the person has agreed, and prints what they show.
func (a *app) try(ctx context.Context, reg *jobs.Registry, lookup func(string) (string, bool), c try.Config, yes bool) error {
	if err := c.Validate(); err != nil {
		return command.Usage("%w", err)
	}
	if err := a.sure(ctx, c, yes, try.MaxCalls, c.At); err != nil {
		return err
	}
	return a.withTargets(reg, lookup, &c, func() error {
		r, err := try.Run(ctx, c)
		if err != nil {
			return err
		}
		return a.printTry(r)
	})
}

// tryTimes makes the call of each scheduled time between --from and --to twice.
func (a *app) tryTimes(ctx context.Context, reg *jobs.Registry, c try.Config, f tryFlags) error {
	from, err := command.TimeOrAge("--from", f.from, c.Now)
	if err != nil {
		return err
	}
	to, err := command.TimeOrAge("--to", f.to, c.Now)
	if err != nil {
		return err
	}
	times, err := c.Times(from, to)
	if err := cmp.Or(err, c.Validate()); err != nil {
		return command.Usage("%w", err)
	}
	if err := a.sure(ctx, c, f.yes, 2*len(times), times[len(times)-1]); err != nil {
		return err
	}
	return a.withTargets(reg, a.Lookup, &c, func() error {
		r, err := try.RunTimes(ctx, c, times)
		return cmp.Or(a.printTryTimes(c.Job, r), err)
	})
}

// withTargets calls f while the configuration has targets to call.
func (a *app) withTargets(reg *jobs.Registry, lookup func(string) (string, bool), c *try.Config, f func() error) error {
	proxy, err := targets.EnvironmentProxy(lookup)
	if err != nil {
		return err
	}
	t, err := targets.New(targets.Config{
		Registry: reg, Lookup: lookup, Version: a.Version, Allow: targets.SplitAllowed(a.AllowTarget), Proxy: proxy,
	})
	if err != nil {
		return err
	}
	defer t.Close()
	c.Targets, c.Registry = t, reg.Name()
	return f()
}

// sure asks at a terminal before real calls. Without one, only calls that use up the key of
// a run to come need --yes.
func (a *app) sure(ctx context.Context, c try.Config, yes bool, calls int, last time.Time) error {
	toCome := ""
	if last.After(c.Now) {
		toCome = fmt.Sprintf(" The run of %s is still to come: it will find its key used, and have no effect.", operations.TimeText(last))
	}
	switch {
	case yes:
		return nil
	case !a.Asks() && toCome == "":
		return nil
	case !a.Asks():
		return command.Usage("%s Confirm with --yes, or try an earlier time", toCome[1:])
	}
	question := fmt.Sprintf("try makes up to %d real calls, %s %s of %s, with real effects.%s Make them?", calls, c.Job.Method,
		c.Job.Path, cmp.Or(c.Name, c.Job.Target), toCome)
	sure, err := a.Asker(ctx).Confirm(question)
	if err == nil && !sure {
		err = errors.New("no call was made")
	}
	return err
}
