package serve

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lone is a listener of a single connection.
type lone struct {
	net.Listener
	conns chan net.Conn
}

func (l lone) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l lone) Close() error   { return nil }
func (l lone) Addr() net.Addr { return &net.TCPAddr{} }

// A body that does not arrive and that nobody reads holds no connection up.
func TestABodyThatNobodyReadsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status, took := slowly(t, func(http.ResponseWriter, *http.Request) {}, "{")
		if status != http.StatusOK || took > readBody {
			t.Errorf("answered %d after %v", status, took)
		}
	})
}

// A request whose body has arrived goes on for as long as it takes.
func TestARequestOutlastsTheDeadlineOfItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status, took := slowly(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
				w.WriteHeader(http.StatusServiceUnavailable)
			case <-time.After(time.Minute):
			}
		}, "{}")
		if status != http.StatusOK || took != time.Minute {
			t.Errorf("answered %d after %v", status, took)
		}
	})
}

// An answer that the client does not read ends, and with it the request.
func TestAnAnswerThatNobodyReadsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, failed := time.Now(), make(chan error, 1)
		client := connect(t, func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, 1<<20))
			failed <- err
		})
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-failed:
			if took := time.Since(begun); err == nil || took > 5*time.Minute {
				t.Errorf("the write ended with %v after %v", err, took)
			}
		case <-time.After(time.Hour):
			t.Error("the answer waits for its reader for over an hour")
		}
	})
}

// connect is a client's connection to a server that the test ends.
func connect(t *testing.T, h http.HandlerFunc) net.Conn {
	t.Helper()
	return connectLogged(t, h, slog.New(slog.DiscardHandler))
}

func connectLogged(t *testing.T, h http.HandlerFunc, log *slog.Logger) net.Conn {
	t.Helper()
	client, conn := net.Pipe()
	l := lone{conns: make(chan net.Conn, 1)}
	l.conns <- conn
	server := newServer(context.Background(), h, log)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		client.Close()
		close(l.conns)
		server.Close()
	})
	return client
}

// slowly sends a request that announces two bytes and a body, and tells what was
// answered when.
func slowly(t *testing.T, h http.HandlerFunc, body string) (status int, took time.Duration) {
	t.Helper()
	client := connect(t, h)
	begun := time.Now()
	go func() { _, _ = client.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n" + body)) }()
	_ = client.SetReadDeadline(begun.Add(time.Hour)) // pipes have deadlines
	res, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode, time.Since(begun)
}

func TestAPanicOfAHandlerIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		client := connectLogged(t, func(http.ResponseWriter, *http.Request) { panic("broken") }, slog.New(slog.NewJSONHandler(&log, nil)))
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(client)
		synctest.Wait()
		if got := log.String(); !strings.Contains(got, `"level":"ERROR"`) || !strings.Contains(got, "panic serving") || !strings.Contains(got, "broken") {
			t.Errorf("logged %s", got)
		}
	})
}
