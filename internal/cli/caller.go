package cli

import (
	"context"
	"log/slog"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/completion"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify/mail"
	"github.com/cronce/cronce/targets"
)

// caller makes the calls of a registry: over HTTP to its targets, in this
// process for the built-in jobs.
type caller struct {
	*targets.Targets
	builtin *cleanup.Nightly
	remote  executor.Caller
	mail    *mail.Caller
	tracing *telemetry.Tracing
	tokens  *completion.Tokens // nil: targets do not report
}

func (a *app) caller(reg *jobs.Registry, s ledger.Store, log *slog.Logger) (*caller, error) {
	tracing, err := telemetry.NewTracing(context.Background(), a.lookup, log)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	tokens, err := completion.FromEnv(reg.Name(), a.publicURL, a.lookup)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	proxy, err := targets.EnvironmentProxy(a.lookup)
	if err != nil {
		return nil, err
	}
	config := targets.Config{
		Registry: reg, Lookup: a.lookup, Version: a.version, Logger: log, Inject: tracing.Inject,
		Allow: targets.SplitAllowed(a.allowTarget), Proxy: proxy,
	}
	if tokens != nil {
		config.Completion = tokens.For
	}
	t, err := targets.New(config)
	if err != nil {
		return nil, err
	}
	dial, _, err := targets.Egress(config.Allow, nil)
	if err != nil {
		t.Close()
		return nil, err
	}
	mails, err := mail.New(mail.Config{Registry: reg, Lookup: a.lookup, Dial: dial})
	if err != nil {
		t.Close()
		return nil, err
	}
	return &caller{Targets: t, mail: mails, builtin: a.purge(reg, s, log), remote: tracing.Wrap(t), tracing: tracing, tokens: tokens}, nil
}

// checkAllowed refuses a list of --allow-target that nothing can be judged by.
func (a *app) checkAllowed() error {
	if _, _, err := targets.Egress(targets.SplitAllowed(a.allowTarget), nil); err != nil {
		return usage("--allow-target: %w", err)
	}
	return nil
}

// checkCalls refuses settings with which the registry's calls could not be made.
func (a *app) checkCalls(reg *jobs.Registry, log *slog.Logger) error {
	calls, err := a.caller(reg, nil, log)
	if err == nil {
		calls.Close()
	}
	return err
}

func (c *caller) Call(ctx context.Context, call executor.Call) executor.Answer {
	if call.Work.Call.Target == jobs.BuiltinTarget {
		return c.builtin.Call(ctx, call)
	}
	if c.mail.Has(call.Work.Call.Target) {
		return c.mail.Call(ctx, call)
	}
	return c.remote.Call(ctx, call)
}

func (c *caller) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.tracing.Close(ctx) // traces are best effort; the ledger is the record
	c.Targets.Close()
}
