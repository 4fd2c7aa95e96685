package idempotency_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
)

// A way of answering, and what its client gets. Status 0: the connection is closed.
type idiom struct {
	answer func(w http.ResponseWriter, r *http.Request)
	status int
	body   string
	stored bool
}

var idioms = map[string]idiom{
	"nothing":        {func(http.ResponseWriter, *http.Request) {}, 200, "", true},
	"Write":          {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("paid")) }, 200, "paid", true},
	"io.WriteString": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "paid") }, 200, "paid", true},
	"several writes": {func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(201)
		fmt.Fprint(w, "pa")
		fmt.Fprint(w, "id")
	}, 201, "paid", true},
	"Flush": {func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		io.WriteString(w, "pa")
		http.NewResponseController(w).Flush()
		io.WriteString(w, "id")
	}, 200, "paid", true},
	"io.Copy": {func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, io.LimitReader(strings.NewReader(strings.Repeat("x", 1<<20)), 300_000))
	}, 200, strings.Repeat("x", 300_000), true},
	"ServeContent": {func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.txt", time.Time{}, strings.NewReader("paid"))
	}, 200, "paid", true},
	"Redirect":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/payments/1", http.StatusSeeOther) }, 303, "", true},
	"204":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 204, "", true},
	"304":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, 304, "", true},
	"NotFound":  {http.NotFound, 404, "404 page not found\n", true},
	"Error 503": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusServiceUnavailable) }, 503, "later\n", false},
	"informational": {func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		io.WriteString(w, "paid")
	}, 200, "paid", true},
	"two statuses": {func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(201)
		w.WriteHeader(500)
	}, 201, "", true},
	"headers after the status": {func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(201)
		w.Header().Set("X-Work", "1")
		io.WriteString(w, "paid")
	}, 201, "paid", true},
	"trailers": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Checksum")
		io.WriteString(w, "paid")
		w.Header().Set("Checksum", "1")
	}, 200, "paid", true},
	"Transfer-Encoding": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Transfer-Encoding", "chunked")
		io.WriteString(w, "paid")
	}, 200, "paid", true},
	"Content-Length": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		io.WriteString(w, "paid")
	}, 200, "paid", true},
	"Connection: close": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "paid")
	}, 200, "paid", true},
	"Hijack": {func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); err != nil {
			http.Error(w, err.Error(), 500)
		}
	}, 500, "feature not supported\n", false},
	"an announced length that is too long": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "paid")
	}, 0, "", false},
	"an announced length that is too short": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		io.WriteString(w, "paid")
	}, 0, "", false},
	"a panic": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Work", "1")
		panic("no luck")
	}, 0, "", false},
	"a panic after a part": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic("no luck")
	}, 0, "", false},
	"ErrAbortHandler": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}, 0, "", false},
	"101": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Upgrade", "chat")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}, 0, "", false},
}

// outcome is how a commit goes.
type outcome struct {
	store.Store
	commit string
}

type outcomeTx struct {
	store.Tx
	commit string
}

func (o *outcome) Begin(ctx context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	tx, status, err := o.Store.Begin(ctx, c)
	return outcomeTx{tx, o.commit}, status, err
}

func (tx outcomeTx) Commit(ctx context.Context, c store.Claim, r store.Reply) (time.Time, error) {
	switch tx.commit {
	case "is refused":
		return time.Time{}, errors.Join(tx.Rollback(ctx), store.ErrTxAborted)
	case "is lost":
		_, err := tx.Tx.Commit(ctx, c, r)
		return time.Time{}, errors.Join(err, store.ErrUnavailable)
	}
	return tx.Tx.Commit(ctx, c, r)
}

func TestEveryWayOfAnsweringGivesOneWholeStoredReply(t *testing.T) {
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	keys := sqlite.New(db, sqlite.Options{})
	if err := keys.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	commits := &outcome{Store: keys}
	kit, err := idempotency.New(commits, idempotency.Options{
		Principal: idempotency.SinglePrincipal("caller"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for name, i := range idioms {
		for _, commit := range []string{"commits", "is refused", "is lost"} {
			t.Run(name+"/"+commit, func(t *testing.T) {
				h := kit.Handler(idempotency.Route{Scope: "s"}, http.HandlerFunc(i.answer))
				server := httptest.NewUnstartedServer(h)
				server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
				server.Start()
				defer server.Close()
				conn, err := net.Dial("tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(20 * time.Second))
				client := &rawClient{conn, bufio.NewReader(conn), name + "/" + commit}
				commits.commit = commit
				if i.stored && commit == "is refused" {
					client.expect(t, 500, "", false)
					commits.commit = ""
				}
				client.expect(t, i.status, i.body, false)
				if i.status != 0 && name != "Connection: close" {
					client.expect(t, i.status, i.body, i.stored)
				}
			})
		}
	}
}

// rawClient makes calls on one connection.
type rawClient struct {
	conn net.Conn
	in   *bufio.Reader
	key  string
}

func (c *rawClient) expect(t *testing.T, status int, body string, replayed bool) {
	t.Helper()
	fmt.Fprintf(c.conn, "POST /pay HTTP/1.1\r\nHost: shop.test\r\nIdempotency-Key: %q\r\nContent-Length: 0\r\n\r\n", c.key)
	answer, err := http.ReadResponse(c.in, &http.Request{Method: "POST"})
	if status == 0 {
		if err == nil {
			t.Fatalf("answered %d, want a closed connection", answer.StatusCode)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != status || (body != "" && string(content) != body) || (answer.Header.Get("Idempotent-Replayed") == "true") != replayed {
		t.Fatalf("%d %.200q, replayed %q; want %d %.200q, %t", answer.StatusCode, content,
			answer.Header.Get("Idempotent-Replayed"), status, body, replayed)
	}
	if answer.Header.Get("X-Work") != "" {
		t.Fatal("a header that was set too late was sent")
	}
}

func TestWhatAHandlerWritesAfterItHasReturnedGoesNowhere(t *testing.T) {
	w := newWire(t)
	late := make(chan func(), 1)
	w.handle("POST /pay", func(out http.ResponseWriter, _ *http.Request) {
		io.WriteString(out, "paid")
		late <- func() {
			out.Header().Set("X-Work", "1")
			out.WriteHeader(500)
			if _, err := io.WriteString(out, "twice"); err == nil {
				t.Error("a write after the return succeeded")
			}
		}
	})
	w.expect("POST", "/pay", nil, 200, false)
	(<-late)()
	if _, _, text := w.call("POST", "/pay", nil); text != "paid" {
		t.Errorf("replayed %q", text)
	}
}
