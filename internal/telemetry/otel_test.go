package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/telemetry"
)

// lockedLog takes what the exporter's goroutine writes.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A value that OpenTelemetry cannot read ends the start and is shown nowhere.
func TestVariablesThatCannotBeReadAreRefused(t *testing.T) {
	for name, env := range map[string][2]string{
		"an endpoint without scheme":  {"OTEL_EXPORTER_OTLP_ENDPOINT", "hush-collector:4318"},
		"an endpoint that is none":    {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://hush\x7f"},
		"an endpoint with a password": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://u:hush@collector"},
		"a header without value":      {"OTEL_EXPORTER_OTLP_HEADERS", "hush"},
		"a header's escape":           {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=hush%zz"},
		"a header's name":             {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "hush key=x"},
		"a header's line break":       {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "api-key=hush%0ahush"},
		"a timeout":                   {"OTEL_EXPORTER_OTLP_TIMEOUT", "hush"},
		"an attribute":                {"OTEL_RESOURCE_ATTRIBUTES", "hush"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(env[0], env[1])
			var log lockedLog
			_, err := telemetry.NewTracing(t.Context(), os.LookupEnv, slog.New(slog.NewTextHandler(&log, nil)))
			if err == nil || !strings.Contains(err.Error(), env[0]) || strings.Contains(err.Error()+log.String(), "hush") {
				t.Errorf("error %v, log %s", err, log.String())
			}
		})
	}
}

// OpenTelemetry logs the values that it goes on without; its words alone are passed on.
func TestOpenTelemetrysOwnLogIsWordsAlone(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "hush")
	var log lockedLog
	tracing, err := telemetry.NewTracing(t.Context(), os.LookupEnv, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	if err := tracing.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "OpenTelemetry reports") || strings.Contains(text, "hush") {
		t.Errorf("log %s", text)
	}
}

// once makes one attempt.
type once struct{}

func (once) Call(context.Context, executor.Call) executor.Answer { return executor.Answer{} }

// What a collector answers goes nowhere, and its redirects are not followed: they
// would take the key along.
func TestACollectorsAnswersAndKeyAreNotShown(t *testing.T) {
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Api-Key"))
	}))
	defer other.Close()
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/hush", http.StatusTemporaryRedirect)
		},
		"repeats the key": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(r.Header.Get("Api-Key")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.Header.Get("Api-Key") != "hush-key" {
					t.Errorf("the collector got the key %q", r.Header.Get("Api-Key"))
				}
				answer(w, r)
			}))
			defer collector.Close()
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hush-key")
			var log lockedLog
			tracing, err := telemetry.NewTracing(t.Context(), os.LookupEnv, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
			if err != nil {
				t.Fatal(err)
			}
			tracing.Wrap(once{}).Call(t.Context(), executor.Call{})
			_ = tracing.Close(t.Context()) // says what the log says
			if asked == 0 || len(elsewhere) > 0 {
				t.Errorf("the collector was asked %d times, another host got the keys %q", asked, elsewhere)
			}
			if text := log.String(); !strings.Contains(text, "traces not exported") || strings.Contains(text, "hush") {
				t.Errorf("log %s", text)
			}
		})
	}
}
