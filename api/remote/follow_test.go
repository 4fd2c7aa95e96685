package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/cronce/cronce/api/remote"
	"github.com/cronce/cronce/internal/operations"
)

// follow tells what a server streams, one entry for each run or loss, until stop
// says so.
func follow(t *testing.T, h http.HandlerFunc, stop func(told []string) error) ([]string, error) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s, err := remote.New(remote.Config{URL: server.URL, Token: "t0ken"})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	err = s.Follow(t.Context(), "tick", func(c operations.Changes) error {
		if c.Lost {
			told = append(told, "lost")
		}
		for _, r := range c.Runs {
			told = append(told, r.RunID)
		}
		return stop(told)
	})
	return told, err
}

var errEnough = errors.New("enough")

// A stream that is cut off is opened again with the last id, which does not count
// before the blank line that ends its event.
func TestFollowGoesOnWhereTheStreamEnded(t *testing.T) {
	streams := []string{
		"retry: 2000\n\nid: 5\n\nevent: run\ndata: {\"runId\":\"a\"}\nid: 6\n\nevent: run\ndata: {\"runId\":\"b\"}\nid: 7\n",
		": heartbeat\n\nevent: run\ndata: {\"runId\":\"b\"}\nid: 7\n\nevent: reload\ndata: {}\nid: 9\n\nevent: later\ndata: {}\n\n",
		"event: run\ndata: {\"runId\":\"c\"}\nid: 10\n\n",
	}
	var ids []string
	told, err := follow(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/v1/events?job=tick" || r.Header.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("%s, %v", r.URL, r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, streams[len(ids)])
		ids = append(ids, r.Header.Get("Last-Event-ID"))
	}, func(told []string) error {
		if len(told) == 4 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || !slices.Equal(told, []string{"a", "b", "lost", "c"}) || !slices.Equal(ids, []string{"", "6", "9"}) {
		t.Errorf("%v; told %q, asked after %q", err, told, ids)
	}
}

func TestFollowEndsWhereItIsRefused(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"a problem": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"code":"unknown_job","detail":"no such job"}`)
		},
		"another server": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"a strange event": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: run\ndata: [\n\n")
		},
	} {
		if told, err := follow(t, h, func([]string) error { return nil }); err == nil || len(told) != 0 {
			t.Errorf("%s: %v, told %q", name, err, told)
		}
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	s, err := remote.New(remote.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Follow(ctx, "", func(operations.Changes) error { return nil }); err != nil {
		t.Error(err)
	}
}
