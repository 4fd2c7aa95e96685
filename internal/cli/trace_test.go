package cli_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// With the standard variables set, each attempt is a span that goes to the
// collector, and the target is told which.
func TestTracesWhenTheStandardVariablesAreSet(t *testing.T) {
	t.Parallel()
	var exported atomic.Bool
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exported.Store(exported.Load() || r.URL.Path == "/v1/traces")
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	var traceparent atomic.Value
	svc := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		traceparent.Store(r.Header.Get("Traceparent"))
	}))
	defer svc.Close()

	p := spawn(t, []string{"SVC_URL=" + svc.URL, "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}, "serve",
		"--config", writeFile(t, everySecond), "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "")
	eventually(t, "a traceparent at the target", func() bool {
		text, _ := traceparent.Load().(string)
		return len(text) == len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	})
	p.Interrupt() // flushes
	if !exported.Load() {
		t.Error("no trace arrived at the collector")
	}
}

func TestServeStartsNothingOnABadRegistry(t *testing.T) {
	t.Parallel()
	ledger := filepath.Join(t.TempDir(), "l.db")
	code, _, errs := invoke(t, nil, "serve", "--config", writeFile(t, everySecond+"    nonsense: 1\n"), "--db", "sqlite:"+ledger)
	if code != exitUsage || errs == "" {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(ledger); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a ledger was made")
	}
}
