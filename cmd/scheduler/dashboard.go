package main

import (
	"log/slog"
	"net"
	"net/http"

	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/web"
)

// dashboard is what serve shows in a browser.
func (s *server) dashboard(fleet *rollover.Fleet[*instance]) *web.Dashboard {
	return web.New(web.Config{
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

// guarded is the dashboard for a listener. Whoever reaches a loopback address is
// on this machine; on any other address nobody gets in.
func guarded(address net.Addr, d http.Handler, log *slog.Logger) http.Handler {
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		log.Info("serving the dashboard", "url", "http://"+address.String()+"/")
		return web.LocalOnly(d)
	}
	log.Warn("dashboard not served: --listen is not a loopback address, and anyone who reaches it could read the ledger",
		"address", address.String(), "hint", "use --listen 127.0.0.1:9464 and a tunnel, such as ssh -L")
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the dashboard is served on a loopback address only; see --listen", http.StatusForbidden)
	})
}
