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

// Refused returns the host of a target's address at which nothing accepts connections; "" if
// something does, or if it is not sure, such as behind a proxy.
func Refused(ctx context.Context, env *command.Env, t jobs.Target) (host string) {
	u, err := t.BaseURL(env.Lookup)
	if err != nil {
		return ""
	}
	proxy, err := targets.EnvironmentProxy(env.Lookup)
	if err != nil {
		return ""
	}
	dial, proxy, err := targets.Egress(targets.SplitAllowed(env.AllowTarget), proxy)
	if err != nil {
		return ""
	}
	if through, err := proxy(&http.Request{URL: u}); err != nil || through != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])))
	if err != nil {
		return u.Host
	}
	_ = conn.Close()
	return ""
}
