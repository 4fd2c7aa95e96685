// Command target runs the example service of package membership.
//
//	MEMBERSHIP_TOKEN=secret go run ./examples/target -listen 127.0.0.1:8080
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cronce/cronce/examples/target/membership"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	path := flag.String("file", "membership.db", "the service's SQLite file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, *path); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, listen, path string) error {
	token := os.Getenv("MEMBERSHIP_TOKEN")
	if token == "" {
		return errors.New("set MEMBERSHIP_TOKEN to the token that the scheduler presents")
	}
	service, err := membership.Open(ctx, path, token, slog.Default())
	if err != nil {
		return err
	}
	defer service.Close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("cannot serve on %s; choose another address with -listen: %w", listen, err)
	}
	server := &http.Server{Handler: logged(service.Handler()), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.WithoutCancel(ctx)) // handlers in progress end first
	}()
	log.Printf("membership service on http://%s", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// logged prints a line for each call, so that one sees which were replayed.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		fmt.Printf("%s %s key=%q attempt=%s replayed=%q\n", r.Method, r.URL.Path,
			r.Header.Get("Idempotency-Key"), r.Header.Get("Cronce-Attempt"), w.Header().Get("Idempotent-Replayed"))
	})
}
