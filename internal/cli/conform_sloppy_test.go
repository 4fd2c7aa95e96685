package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// sloppyService answers as the protocol of conform says, and has no keys.
func sloppyService(t *testing.T) (url string) {
	t.Helper()
	var mu sync.Mutex
	effects := map[string]int{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /conform", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"protocol":1}`) })
	mux.HandleFunc("GET /conform/effects", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, `{"count":%d}`, effects[r.FormValue("operation")])
	})
	mux.HandleFunc("POST /conform/{scope}", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Operation string }
		if json.NewDecoder(r.Body).Decode(&asked) != nil || r.Header.Get("Cronce-Send-Before") != "" {
			http.Error(w, "no JSON, or a header that is not supported", http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		effects[asked.Operation]++
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"effect":%d}`, effects[asked.Operation])
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}
