package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/jobs"
)

// answer serves HTTP requests until closeServers is called. It still serves them after ctx has
// ended, while the calls in flight finish.
func (s *server) answer(ctx context.Context, fleet *rollover.Fleet[*instance], hosts access.Hosts,
	control access.Control) (clients *askers, closeServers func(), err error) {
	draining := context.WithoutCancel(ctx)
	s.metrics.Watch(func() map[string]string { return fleet.Current().calls.Breakers() },
		scraped(draining, s.store.Counts), scraped(draining, troublesOf(s.store)))
	s.metrics.WatchSchedules(scraped(draining, schedulesOf(s.store, func() *jobs.Registry { return fleet.Current().registry })))
	mux := healthMux(ctx, fleet, s.metrics)
	ops, gate := s.operations(fleet), api.NewGate(control)
	clients = &askers{Handler: s.api(gate, ops, control)}
	mux.Handle("/v1/", clients)
	board := s.dashboard(fleet, ops)
	stop, err := s.app.listen(draining, s.flags.listen, hosts, mux, guard{control, gate, s.log}, board)
	if err != nil {
		return nil, nil, err
	}
	stopKeys, err := listenKeys(draining, s.flags.listenKeys, fleet, s.log)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return clients, func() { stopKeys(); stop() }, nil
}

// listen serves health, metrics, the API and the dashboard, until stop.
func (a *app) listen(ctx context.Context, address string, hosts access.Hosts, mux *http.ServeMux, g guard,
	board http.Handler) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w; choose another address, or \"\" for none", address, err)
	}
	mux.Handle("/", g.dashboard(l.Addr(), board))
	stop = serveOn(ctx, l, api.OnlyHosts(hosts, mux), "--listen", g.log)
	g.log.Info("serving health and metrics", "address", l.Addr().String())
	return stop, nil
}

// serveOn serves the listener of a flag, until stop.
func serveOn(ctx context.Context, l net.Listener, h http.Handler, flag string, log *slog.Logger) (stop func()) {
	server := newServer(ctx, h, log)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("server on "+flag+" failed", "error", err)
		}
	})
	return func() { closeServer(server); serving.Wait() }
}

// lastAnswers is how long requests in progress have when the server closes.
const lastAnswers = 2 * time.Second

// closeServer takes no more requests and lets those in progress be answered.
func closeServer(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
}

// askers serves a handler, and knows when a client last asked.
type askers struct {
	http.Handler
	last atomic.Pointer[time.Time] // when one asked
}

func (a *askers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.last.Store(new(time.Now()))
	a.Handler.ServeHTTP(w, r)
}

// tell waits, at the end of serve, until clients that follow a run have seen how it ended. They ask every
// backend.TakenOver. It does not wait if nobody has asked lately.
func (a *askers) tell() {
	if last := a.last.Load(); last != nil && time.Since(*last) < 2*backend.TakenOver {
		time.Sleep(2 * backend.TakenOver)
	}
}

// newServer returns a server whose limits keep slow or silent clients from holding connections for good.
func newServer(ctx context.Context, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: inTime(h),
		// "OPTIONS *" too is answered only by the server's own names.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            5 * time.Second,
		// A client that does not read its answer would keep its place among the requests
		// in progress.
		WriteTimeout:   2 * time.Minute,
		IdleTimeout:    time.Minute,
		MaxHeaderBytes: 16 << 10,                                          // net/http reads 4 KiB more
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelError), // a handler that panics
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
}

// readBody is how long a request's body may take to arrive.
const readBody = 10 * time.Second

// inTime bounds how long a body takes to arrive. Before it answers, the standard
// library waits for the rest of one that no handler reads, for as long as the
// client likes.
func inTime(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			conn := http.NewResponseController(w)
			_ = conn.SetReadDeadline(time.Now().Add(readBody)) // every connection has one
			r.Body = &arriving{r.Body, conn}
		}
		h.ServeHTTP(w, r)
	})
}

// arriving is a body. Once it is there the deadline ends: a later one would cancel
// the request.
type arriving struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *arriving) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{}) // as above
	}
	return n, err
}
