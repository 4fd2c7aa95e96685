package serve

import (
	"net/http"
	"testing"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
)

// The host of the public URL needs no other setting.
func TestThePublicURLIsAHost(t *testing.T) {
	t.Parallel()
	a := &app{&backend.Backend{Env: &command.Env{PublicURL: "https://cronce.example.com:8443/ops"}}}
	h, err := a.hosts(serveFlags{listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://cronce.example.com/", nil)
	if err := h.Check(r); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"*.example.com", "cronce:9464", "https://cronce", "a b", ""} {
		if _, err := a.hosts(serveFlags{allowHost: []string{name}}); err == nil {
			t.Errorf("%q is allowed", name)
		}
	}
}
