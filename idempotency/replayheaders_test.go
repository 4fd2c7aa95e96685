package idempotency_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

// A service may ask for more headers to be replayed, but not for those that are
// one client's or one connection's.
func TestHeadersOfOneClientAreNeverStored(t *testing.T) {
	reply := http.Header{}
	for _, name := range []string{"Set-Cookie", "Date", "Authorization", "Www-Authenticate", "Connection", "Transfer-Encoding", "Content-Length", "Location", "X-Request-Cost", "X-Other"} {
		reply.Set(name, "x")
	}
	asked := []string{"set-cookie", "Date", "authorization", "WWW-Authenticate", "connection", "Transfer-Encoding", "content-length", "x-request-cost"}
	stored := idempotency.StoredHeader(reply, idempotency.Replayable(asked))
	if got, want := slices.Sorted(maps.Keys(stored)), []string{"Location", "X-Request-Cost"}; !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
}
