package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
	"github.com/cronce/cronce/targets/probe"
)

type probeFlags struct {
	url, method, path, body, changed, tokenEnv string
	timeout                                    time.Duration
	yes                                        bool
}

func (a *app) probeCommand() *cobra.Command {
	var f probeFlags
	c := &cobra.Command{
		Use:   "probe JOB | --url URL [--method M] [--path P] [--body JSON]",
		Short: "Call a target to find faults in how it treats keys (real effects)",
		Long: `probe calls a target with new keys: one call, the same call again, one with a
changed body, four at the same time, and one without a key: 8 calls, or one if the
first fails. It reports how the target answered.

WARNING: these are real calls with real effects: at least two (one for each key
it uses), and one per call if the target is not idempotent. Use a test
environment. Nothing is written to the ledger. On a terminal probe asks first;
--yes answers.

A JOB is called as the scheduler calls it, authorization included. A URL must be
https, or http to this machine.

Exit 0: no fault found. Exit 1: a fault found, or no clear answer. No exit code
says that the target is idempotent: a probe sees answers and no effects, and
tries no crashes and lost answers. Test that with conform.`,
		Example: `  cronce probe release-commission-locks
  cronce probe --url http://127.0.0.1:8080/v1/payments --body '{"cents":1}' --token-env TOKEN`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if (f.url == "") == (len(args) == 0) {
				return usage("say what to probe: a job of the registry, or --url")
			}
			if f.url != "" {
				return a.probeURL(c.Context(), f)
			}
			for _, name := range []string{"method", "path", "body", "token-env"} {
				if c.Flags().Changed(name) {
					return usage("--%s belongs to --url; a job has its own", name)
				}
			}
			if !c.Flags().Changed("timeout") {
				f.timeout = 0 // the job's own
			}
			return a.probeJob(c.Context(), args[0], f)
		},
	}
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

func (a *app) probeJob(ctx context.Context, id string, f probeFlags) error {
	reg, err := a.registry()
	if err != nil {
		return err
	}
	j, err := job(reg, id)
	if err != nil {
		return err
	}
	if j.Target == jobs.BuiltinTarget {
		return usage("%s is built in: it calls no target", id)
	}
	if f.timeout != 0 {
		j.Timeout = f.timeout
	}
	ttl, _ := reg.TTL(j.KeyScope)
	return a.probe(ctx, reg, a.lookup, probe.Config{Job: j, TTL: ttl, ChangedBody: f.changed}, f.yes)
}

func (a *app) probeURL(ctx context.Context, f probeFlags) error {
	u := probe.AdHocTarget{URL: f.url, Method: f.method, Path: f.path, Body: f.body, TokenEnv: f.tokenEnv, Timeout: f.timeout}
	reg, c, lookup, err := u.Registry(a.lookup)
	if err != nil {
		return &exit{exitUsage, err}
	}
	c.ChangedBody = f.changed
	return a.probe(ctx, reg, lookup, c, f.yes)
}

func (a *app) probe(ctx context.Context, reg *jobs.Registry, lookup func(string) (string, bool), c probe.Config, yes bool) error {
	if err := c.Validate(); err != nil {
		return &exit{exitUsage, err}
	}
	if !yes && a.asks() {
		question := fmt.Sprintf("probe makes up to %d real calls, %s %s of %s, with real effects. Make them?", probe.MaxCalls, c.Job.Method, c.Job.Path, cmp.Or(c.Name, c.Job.Target))
		if sure, err := a.asker(ctx).confirm(question); err != nil {
			return err
		} else if !sure {
			return errors.New("no call was made")
		}
	}
	proxy, err := targets.EnvironmentProxy(lookup)
	if err != nil {
		return err
	}
	t, err := targets.New(targets.Config{
		Registry: reg, Lookup: lookup, Version: buildVersion(), Allow: targets.SplitAllowed(a.allowTarget), Proxy: proxy,
	})
	if err != nil {
		return err
	}
	defer t.Close()
	c.Targets, c.Registry, c.Now = t, reg.Name(), a.now()
	r, err := probe.Run(ctx, c)
	if err != nil {
		return err
	}
	return a.printProbe(r)
}
