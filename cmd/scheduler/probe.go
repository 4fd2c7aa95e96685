package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

type probeFlags struct {
	url, method, path, body, changed, tokenEnv string
	timeout                                    time.Duration
}

func (a *app) probeCommand() *cobra.Command {
	var f probeFlags
	c := &cobra.Command{
		Use:   "probe JOB | --url URL [--method M] [--path P] [--body JSON]",
		Short: "Call a target to test that it applies each key once (real effects)",
		Long: `probe calls a target with new keys: one call, the same call again, one with a
changed body, several at the same time, and one without a key. It reports how
the target answered.

WARNING: these are real calls with real effects: at least two (one for each key
it uses), and one per call if the target is not idempotent. Use a test
environment. Nothing is written to the ledger.

A JOB is called as the scheduler calls it, authorization included. A URL must be
https, or http to this machine.

Exit 0: idempotent. Exit 1: not idempotent, or not proven.`,
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
	c.Flags().StringVar(&f.method, "method", "POST", "of the URL: POST, PUT, PATCH or DELETE")
	c.Flags().StringVar(&f.path, "path", "", "a `path` and query under the URL")
	c.Flags().StringVar(&f.body, "body", "", "what to send to the URL, as `JSON` (default the body that jobs send)")
	c.Flags().StringVar(&f.tokenEnv, "token-env", "", "a `variable` that holds a bearer token for the URL")
	c.Flags().StringVar(&f.changed, "changed-body", "", "the other body, as `JSON`, where the target would not take one more field")
	c.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "of each call (a job: its own, unless given)")
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
	return a.probe(ctx, reg, j, ttl, j.Target, f)
}

// probeURL makes a registry of the one target that it was given.
func (a *app) probeURL(ctx context.Context, f probeFlags) error {
	base, path, err := split(f.url, f.path)
	if err != nil {
		return err
	}
	if f.body != "" && !json.Valid([]byte(f.body)) {
		return usage("--body is not JSON")
	}
	if err := changes(f.method); err != nil {
		return err
	}
	const variable = "PROBED_URL"
	target := jobs.Target{Name: "probed", URLEnv: variable}
	if f.tokenEnv != "" {
		target.Auth = jobs.Auth{Type: jobs.AuthBearer, TokenEnv: f.tokenEnv}
	}
	j := jobs.Job{ID: "probe", Schedule: "@yearly", Target: target.Name, Method: f.method, Path: path, Timeout: f.timeout}
	if f.body != "" {
		j.Body = json.RawMessage(f.body)
	}
	reg, err := jobs.NewRegistry(jobs.Name("cronce-probe"), target, j)
	if err != nil {
		return err
	}
	lookup := a.lookup
	probing := *a
	probing.lookup = func(name string) (string, bool) {
		if name == variable {
			return base, true
		}
		return lookup(name)
	}
	j, _ = reg.Job(j.ID)
	return probing.probe(ctx, reg, j, 0, base, f)
}

// split divides a URL into a base and the path of the call, which is the
// URL's own unless one is given.
func split(text, path string) (base, rest string, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "", "", usage("--url is not a URL such as https://membership.example.com/v1/payments")
	case !jobs.ValidHost(u.Hostname()) || !jobs.ValidPort(u.Port()):
		return "", "", usage("--url names a host or port that cannot exist: the host must be a DNS name or an IP address, the port 1 to 65535")
	case u.Scheme == "http" && !jobs.IsLoopback(u.Hostname()):
		return "", "", usage("--url is plain http to another machine: use https, or probe a job whose target has allowHTTP")
	case u.User != nil:
		return "", "", usage("--url must hold no user or password; name a variable that holds a token with --token-env")
	case path != "":
		return text, path, nil
	}
	rest = u.EscapedPath()
	if rest == "" {
		rest = "/"
	}
	if u.RawQuery != "" {
		rest += "?" + u.RawQuery
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), rest, nil
}

// changes refuses the methods that carry no key.
func changes(method string) error {
	if !slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, method) {
		return usage("the method %s has no key to probe: POST, PUT, PATCH and DELETE have", method)
	}
	return nil
}

func (a *app) probe(ctx context.Context, reg *jobs.Registry, j jobs.Job, ttl time.Duration, name string, f probeFlags) error {
	if err := changes(j.Method); err != nil {
		return err
	}
	if j.Timeout <= 0 {
		return usage("--timeout %s: give a time such as 30s", j.Timeout)
	}
	if f.changed != "" && !json.Valid([]byte(f.changed)) {
		return usage("--changed-body is not JSON")
	}
	t, err := targets.New(targets.Config{Registry: reg, Lookup: a.lookup, Version: buildVersion()})
	if err != nil {
		return err
	}
	defer t.Close()
	p := &prober{targets: t, registry: reg.Name(), job: j, changed: f.changed, began: a.now().UTC().Truncate(time.Second)}
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("%w; calls that were sent may have had their effects", err)
	}
	return a.printProbe(probeJSON{
		Target: name, Method: j.Method, Path: j.Path, Calls: p.calls, Checks: p.judge(ttl),
	})
}

// newKey is a key of the job that nobody has used and no scheduled time has.
func (p *prober) newKey() string {
	return jobs.RunIDWithToken(p.job.ID, p.began, uuid.Must(uuid.NewV7()).String())
}
