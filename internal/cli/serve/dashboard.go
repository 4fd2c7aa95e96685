package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/web"
)

// dashboard returns the handler of the pages, on the instance that is current at each request.
func (s *server) dashboard(fleet *rollover.Fleet[*instance], ops *operations.Service) *web.Dashboard {
	return web.New(web.Config{
		Operations: ops, Actions: true,
		Ledger: s.store, Version: s.app.Version, Engine: backend.EngineOf(s.app.DatabaseURL()), Logger: s.log, Now: s.app.Now,
		Serving: func() web.Serving {
			i := fleet.Current()
			now := web.Serving{Registry: i.registry, Process: i.process, Breakers: i.calls.Breakers(), PurgeWarning: i.purge.Warning()}
			if err := fleet.Failure(); err != nil {
				now.ReloadWarning = err.Error()
			}
			return now
		},
	})
}

// guard admits requests to the dashboard by the rules and limits of the API.
type guard struct {
	control access.Control
	gate    *api.Gate
	log     *slog.Logger
}

// dashboard serves the dashboard to the identities that the access control proves.
// Without access control it refuses every request.
func (g guard) dashboard(address net.Addr, d http.Handler) http.Handler {
	if g.control == nil {
		g.log.Warn("dashboard not served: --listen is not a loopback address and no access file is set",
			"address", address.String(), "hint", "--access FILE with a proxy; see docs/dashboard.md")
		return notServed("dashboard")
	}
	g.log.Info("serving the dashboard", "url", "http://"+reachedBy(address.String())+"/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := g.gate.Admit(r)
		if err != nil {
			g.challenge(w, err)
			return
		}
		if who.Role < access.Viewer {
			refusePage(w, &api.Problem{Status: http.StatusForbidden, Detail: who.Needs(access.Viewer.String())})
			return
		}
		end, err := g.gate.Begin(who)
		if err != nil {
			refusePage(w, err)
			return
		}
		defer end()
		d.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), who)))
	})
}

// challenge refuses a page of the dashboard. If the access file has tokens, a browser asks
// its user for one.
func (g guard) challenge(w http.ResponseWriter, err error) {
	if statusOf(err) != http.StatusUnauthorized {
		refusePage(w, err)
		return
	}
	hint := "browsers reach the dashboard through a proxy that the access file trusts"
	if f, ok := g.control.(*access.File); ok && f.TakesTokens() {
		w.Header().Set("WWW-Authenticate", `Basic realm="cronce", charset="UTF-8"`)
		hint = "a browser asks for a user and a password: the user may be any name, the password is a token of the access file"
	}
	refusePage(w, fmt.Errorf("%w; %s", err, hint))
}

func refusePage(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, err.Error(), status)
}

func statusOf(err error) int {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return p.Status
	}
	return http.StatusServiceUnavailable
}
