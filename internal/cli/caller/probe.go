package caller

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

// NewProbe returns a function that says in words whether something accepts connections at
// the address of a target, and whether it is sure that nothing does.
func NewProbe(env *command.Env) (func(context.Context, jobs.Target) (state string, refused bool), error) {
	proxy, err := targets.EnvironmentProxy(env.Lookup)
	if err != nil {
		return nil, err
	}
	dial, proxy, err := targets.Egress(targets.SplitAllowed(env.AllowTarget), proxy)
	if err != nil {
		return nil, command.Usage("--allow-target: %w", err)
	}
	return func(ctx context.Context, t jobs.Target) (string, bool) {
		if env.Getenv(t.URLEnv, "") == "" {
			return "not set: export " + t.URLEnv + "=http://127.0.0.1:8080", false
		}
		u, err := t.BaseURL(env.Lookup)
		if err != nil {
			return "unusable: " + err.Error(), false
		}
		if through, err := proxy(&http.Request{URL: u}); err != nil || through != nil {
			return "not looked at: calls go through a proxy", false
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		conn, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])))
		if err != nil {
			return "nothing listens at " + u.Host, true
		}
		_ = conn.Close()
		return "listens at " + u.Host, false
	}, nil
}
