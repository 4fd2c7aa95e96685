package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/cronce/cronce/internal/rollover"
)

// jwksPath is the path at which verifiers look for an issuer's keys (RFC 8615).
const jwksPath = "/.well-known/jwks.json"

// listenKeys serves the public keys alone on an address of their own, until stop. Verifiers elsewhere can reach it
// while --listen stays private.
func listenKeys(ctx context.Context, address string, fleet *rollover.Fleet[*instance], log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen-jwks %s: %w; choose another address, or leave it out", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+jwksPath, jwksHandler(fleet))
	log.Info("serving public keys", "address", l.Addr().String())
	return serveOn(ctx, l, mux, "--listen-jwks", log), nil
}

// jwksHandler serves the public keys of the current registry. Verifiers may keep them for a minute.
func jwksHandler(fleet *rollover.Fleet[*instance]) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		set, err := fleet.Current().calls.JWKS()
		if err != nil {
			http.Error(w, "the keys cannot be read", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/jwk-set+json")
		w.Header().Set("Cache-Control", "max-age=60")
		_, _ = w.Write(set)
	})
}
