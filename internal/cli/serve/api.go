package serve

import (
	"log/slog"
	"net/http"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/jobs"
)

// apiAccess returns who may use the API and the dashboard on an address: those of the access file, or else everyone on
// this machine. It is nil, and nothing is served, if strangers reach the address and no file says who may. reload reads
// the file again.
func (a *app) apiAccess(file, listen string, log *slog.Logger) (control access.Control, reload func() error, err error) {
	reload = func() error { return nil }
	if file != "" {
		f, err := access.Open(file)
		if err != nil {
			return nil, nil, command.Usage("--access: %w", err)
		}
		warn := func() {
			if text := f.Warning(); text != "" {
				log.Warn("access file is weak", "file", file, "warning", text)
			}
		}
		warn()
		return f, func() error {
			err := f.Reload()
			if err == nil {
				warn()
			}
			return err
		}, nil
	}
	if listen != "" && !access.IsLoopback(listen) {
		log.Warn("API not served: the address is not loopback and no access file is set", "address", listen, "hint",
			"--access FILE; see docs/api.md")
		return nil, reload, nil
	}
	return access.Loopback{}, reload, nil
}

// operations returns the queries and actions of operators, on the registry that is served at each call.
func (s *server) operations(fleet *rollover.Fleet[*instance]) *operations.Service {
	return operations.New(operations.Config{
		Ledger: s.store, Now: s.app.Now, Logger: s.log,
		Registry: func() (*jobs.Registry, error) { return fleet.Current().registry, nil },
		Breakers: func() map[string]string { return fleet.Current().calls.Breakers() },
	})
}

// api serves /v1, or says why it is not served.
func (s *server) api(gate *api.Gate, ops *operations.Service, control access.Control) http.Handler {
	if control == nil {
		return notServed("API")
	}
	return api.New(api.Config{Operations: ops, Gate: gate, Logger: s.log})
}

// notServed says why the API or the dashboard is not served on an address that strangers reach.
func notServed(what string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the "+what+" is not served: --listen is not a loopback address, and no access file is set; set --access",
			http.StatusForbidden)
	})
}
