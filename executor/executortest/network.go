package executortest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// network connects the executor to the handlers, in memory: a goroutine that waits for a
// real connection would stop the time of the bubble.
type network struct {
	env     map[string]string
	servers map[string]*server // by address
}

// newNetwork gives each target an address.
func newNetwork(c Config) *network {
	n := &network{env: map[string]string{}, servers: map[string]*server{}}
	for name, value := range c.Env {
		n.env[name] = value
	}
	for i, target := range c.Registry.Targets() {
		address := fmt.Sprintf("127.0.0.1:%d", i+1)
		n.env[target.URLEnv] = "http://" + address
		if h := c.Handlers[target.Name]; h != nil {
			n.servers[address] = serve(h)
		}
	}
	return n
}

func (n *network) lookup(name string) (string, bool) {
	value, ok := n.env[name]
	return value, ok
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	s := n.servers[address]
	if s == nil {
		return nil, syscall.ECONNREFUSED
	}
	client, served := net.Pipe()
	select {
	case s.conns <- served:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) close() {
	for _, s := range n.servers {
		_ = s.http.Close()
		<-s.done
	}
}

// server is an HTTP server, and the listener that gives it its connections.
type server struct {
	http   *http.Server
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	done   chan struct{}
}

func serve(h http.Handler) *server {
	s := &server{http: &http.Server{Handler: h}, conns: make(chan net.Conn), closed: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s)
	}()
	return s
}

func (s *server) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *server) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *server) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
