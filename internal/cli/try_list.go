package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

// tryTarget is a target as try lists it.
type tryTarget struct {
	Name   string `json:"name"`
	URLEnv string `json:"urlEnv"`
	State  string `json:"state"`
}

// tryJobLine is a job that can be tried.
type tryJobLine struct {
	ID     string `json:"id"`
	Call   string `json:"call"`
	Target string `json:"target"`
	LastAt string `json:"lastScheduledAt,omitempty"`
}

// listTries says whether the targets of the registry listen, and which jobs call them.
func (a *app) listTries(ctx context.Context) error {
	reg, err := a.registry()
	if err != nil {
		return err
	}
	look, err := a.listener()
	if err != nil {
		return err
	}
	list := struct {
		Targets []tryTarget  `json:"targets"`
		Jobs    []tryJobLine `json:"jobs"`
	}{[]tryTarget{}, []tryJobLine{}}
	used := map[string]bool{}
	for _, j := range reg.All() {
		if j.Target != jobs.BuiltinTarget && !j.Disabled {
			used[j.Target] = true
			list.Jobs = append(list.Jobs, tryJobLine{j.ID, j.Method + " " + j.Path, j.Target, rfc3339(j.ParsedSchedule().Last(a.now()))})
		}
	}
	for _, t := range reg.Targets() {
		if used[t.Name] {
			state, _ := look(ctx, t)
			list.Targets = append(list.Targets, tryTarget{t.Name, t.URLEnv, state})
		}
	}
	if a.encoded() {
		return a.encode(list)
	}
	t := a.table("TARGET", "VARIABLE", "STATE")
	for _, x := range list.Targets {
		t.Row(x.Name, x.URLEnv, x.State)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t = a.table("JOB", "CALL", "TARGET", "LAST SCHEDULED")
	for _, j := range list.Jobs {
		t.Row(j.ID, j.Call, j.Target, j.LastAt)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "\n%s of %s; \"cronce try JOB\" makes its call\n", plural.Of(len(list.Jobs), "job"), a.config)
	return err
}

// listener returns a function that says in words whether something accepts connections at
// the address of a target, and whether it is sure that nothing does.
func (a *app) listener() (func(context.Context, jobs.Target) (state string, refused bool), error) {
	proxy, err := targets.EnvironmentProxy(a.lookup)
	if err != nil {
		return nil, err
	}
	dial, proxy, err := targets.Egress(targets.SplitAllowed(a.allowTarget), proxy)
	if err != nil {
		return nil, usage("--allow-target: %w", err)
	}
	return func(ctx context.Context, t jobs.Target) (string, bool) {
		value, set := a.lookup(t.URLEnv)
		if !set || value == "" {
			return "not set: export " + t.URLEnv + "=http://127.0.0.1:8080", false
		}
		u, err := targets.ParseBase(t.URLEnv, value, t)
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
