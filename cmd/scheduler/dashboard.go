package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/web"
)

// dashboard is what serve shows in a browser. Its forms are requests of the API.
func (s *server) dashboard(fleet *rollover.Fleet[*instance], ops *operations.Service, v1 http.Handler) *web.Dashboard {
	return web.New(web.Config{
		Operations: ops, API: v1,
		Ledger: s.store, Version: buildVersion(), Engine: engineOf(s.app.databaseURL()), Logger: s.log, Now: s.app.now,
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

// guarded is the dashboard for those whom the access control knows; for nobody
// where there is none.
func guarded(address net.Addr, control access.Control, d http.Handler, log *slog.Logger) http.Handler {
	if control == nil {
		log.Warn("dashboard not served: --listen is not a loopback address and there is no access file",
			"address", address.String(), "hint", "--access FILE with a proxy; see docs/dashboard.md")
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the dashboard is served to this machine, or with an access file; see --access", http.StatusForbidden)
		})
	}
	log.Info("serving the dashboard", "url", "http://"+address.String()+"/")
	identified := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := control.Identify(r)
		if err != nil {
			status := http.StatusServiceUnavailable
			if denied := (*access.Denied)(nil); errors.As(err, &denied) {
				status = denied.Status
			}
			http.Error(w, err.Error()+"; browsers reach the dashboard through a proxy that the access file trusts", status)
			return
		}
		d.ServeHTTP(w, r.WithContext(access.With(r.Context(), who)))
	})
	if _, local := control.(access.Loopback); local {
		return web.LocalOnly(identified)
	}
	return identified
}
