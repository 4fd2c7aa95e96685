package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/api/access"
)

// reader is the response of a client in a bubble: what is written to it, or
// nothing taken at all.
type reader struct {
	header   http.Header
	stuck    bool
	mu       sync.Mutex
	text     bytes.Buffer
	deadline time.Time
}

func (r *reader) Header() http.Header { return r.header }
func (r *reader) WriteHeader(int)     {}
func (r *reader) FlushError() error   { return nil }

func (r *reader) SetWriteDeadline(t time.Time) error {
	r.deadline = t
	return nil
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	stuck := r.stuck
	r.mu.Unlock()
	if stuck {
		time.Sleep(time.Until(r.deadline)) // in a bubble
		return 0, os.ErrDeadlineExceeded
	}
	return r.text.Write(p)
}

// bubble runs a stream in virtual time and reports when it has ended.
func (s *site) bubble(control access.Control, token string) (client *reader, leave func(), ended <-chan struct{}) {
	h, err := api.New(s.config(control))
	s.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequest(http.MethodGet, "/v1/events", nil).WithContext(ctx)
	r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client, done := &reader{header: http.Header{}}, make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(client, r)
	}()
	return client, cancel, done
}

func over(ended <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

func TestAQuietStreamSendsHeartbeats(t *testing.T) {
	s := onFile(t, loopback).inMemory()
	synctest.Test(t, func(*testing.T) {
		client, leave, ended := s.bubble(loopback, "")
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n := strings.Count(client.text.String(), ": heartbeat\n\n"); n != 3 {
			t.Errorf("%d heartbeats in a minute:\n%s", n, client.text.String())
		}
		leave()
		if !over(ended) {
			t.Error("the stream outlives its client")
		}
	})
}

func TestASlowReaderIsCutOff(t *testing.T) {
	s := onFile(t, loopback).inMemory()
	synctest.Test(t, func(*testing.T) {
		client, leave, ended := s.bubble(loopback, "")
		defer leave()
		synctest.Wait()
		client.mu.Lock()
		client.stuck = true
		client.mu.Unlock()
		time.Sleep(24 * time.Second) // a heartbeat is due, and waits
		if over(ended) {
			t.Error("cut off too early")
		}
		time.Sleep(2 * time.Second)
		if !over(ended) {
			t.Error("a reader that takes nothing keeps its stream")
		}
	})
}

// A token that is revoked ends its streams; another one does not.
func TestAStreamEndsWhenItsTokenIsRevoked(t *testing.T) {
	path, tokens := accessFile(t, "")
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, loopback).inMemory()
	synctest.Test(t, func(*testing.T) {
		_, leave, ended := s.bubble(control, tokens["viewer"])
		defer leave()
		_, leaveToo, stays := s.bubble(control, tokens["admin"])
		defer leaveToo()
		time.Sleep(time.Minute)
		if over(ended) {
			t.Fatal("ended early")
		}
		text, err := os.ReadFile(path)
		s.must(err)
		lines := strings.Split(string(text), "\n")
		s.must(os.WriteFile(path, []byte(strings.Join(append(lines[:2:2], lines[3:]...), "\n")), 0o600))
		s.must(control.Reload())
		time.Sleep(16 * time.Second)
		if !over(ended) || over(stays) {
			t.Errorf("ended: %t, the other: %t", over(ended), over(stays))
		}
	})
}

// A process that stops ends its streams, which would otherwise last as long as it waits.
func TestAClosedGateEndsTheStreams(t *testing.T) {
	t.Parallel()
	s := onFile(t, loopback).inMemory()
	config := s.config(loopback)
	h, err := api.New(config)
	s.must(err)
	server := httptest.NewServer(h)
	defer server.Close()
	res, err := http.Get(server.URL + "/v1/events") //nolint:noctx // the gate ends it
	s.must(err)
	defer res.Body.Close()
	config.Gate.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.HasPrefix(string(text), "retry: ") {
		t.Errorf("%q, %v", text, err)
	}
}
