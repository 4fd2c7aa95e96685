// Package caller makes the calls of a registry in this process: HTTP calls by package
// targets, emails by package mail, the built-in purge by package cleanup. serve,
// trigger, notify and check --live share it.
package caller

import (
	"context"
	"log/slog"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/keystores"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify/mail"
	"github.com/cronce/cronce/targets"
)

// Caller makes the calls of a registry: over HTTP to its targets, in this
// process for the built-in jobs.
type Caller struct {
	*targets.Targets
	Builtin *cleanup.Nightly
	remote  executor.Caller
	mail    *mail.Caller
	tracing *telemetry.Tracing
}

// New returns what makes the calls of a registry, with its connections and traces. The caller of New closes it. s may
// be nil if no purge is called.
func New(env *command.Env, reg *jobs.Registry, s ledger.Store, log *slog.Logger) (*Caller, error) {
	tracing, err := telemetry.NewTracing(context.Background(), env.Lookup, log)
	if err != nil {
		return nil, command.Usage("%w", err)
	}
	proxy, err := targets.EnvironmentProxy(env.Lookup)
	if err != nil {
		return nil, err
	}
	allow := targets.SplitAllowed(env.AllowTarget)
	t, err := targets.New(targets.Config{
		Registry: reg, Lookup: env.Lookup, Version: env.Version, Logger: log, Inject: tracing.Inject, Allow: allow, Proxy: proxy,
	})
	if err != nil {
		return nil, err
	}
	dial, _, err := targets.Egress(allow, nil)
	if err != nil {
		t.Close()
		return nil, err
	}
	mails, err := mail.New(mail.Config{Registry: reg, Lookup: env.Lookup, Dial: dial})
	if err != nil {
		t.Close()
		return nil, err
	}
	purge := cleanup.New(reg, keystores.Of(reg, env.Lookup), s)
	purge.Logger = log
	return &Caller{Targets: t, mail: mails, Builtin: &cleanup.Nightly{Purge: purge}, remote: tracing.Wrap(t), tracing: tracing}, nil
}

// Call implements executor.Caller.
func (c *Caller) Call(ctx context.Context, call executor.Call) executor.Answer {
	if call.Work.Call.Target == jobs.BuiltinTarget {
		return c.Builtin.Call(ctx, call)
	}
	if c.mail.Has(call.Work.Call.Target) {
		return c.mail.Call(ctx, call)
	}
	return c.remote.Call(ctx, call)
}

// Close sends the traces that are left and closes connections.
func (c *Caller) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.tracing.Close(ctx) // traces are best effort; the ledger is the record
	c.Targets.Close()
}
