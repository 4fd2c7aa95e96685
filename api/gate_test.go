package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/internal/access"
)

// The body that a run sends, and what its target said, are for operators; a viewer's answer
// has neither.
func TestFrozenBodiesAreHiddenFromViewers(t *testing.T) {
	path, tokens := accessFile(t, "")
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, control)
	for role, shown := range map[string]bool{"viewer": false, "operator": true, "admin": true} {
		for _, n := range []int{1, 2} {
			a := s.get(runPath(s.run(n)), "Authorization", "Bearer "+tokens[role])
			if strings.Contains(string(a.body), "of the call") != shown || strings.Contains(string(a.body), "no account of the call") != (shown && n == 2) {
				t.Errorf("%s: %s", role, a.body)
			}
		}
	}
}

// A token that was taken out of the file is out at the next reload; a file with a
// mistake changes nothing.
func TestTheAccessFileIsReadAgain(t *testing.T) {
	path, tokens := accessFile(t, "")
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, control)
	status := func(role string) int {
		return s.get("/v1/status", "Authorization", "Bearer "+tokens[role]).StatusCode
	}
	text, _ := os.ReadFile(path)
	s.must(os.WriteFile(path, []byte("version: 1\ntokens: ["), 0o600))
	if err := control.Reload(); err == nil || status("viewer") != 200 {
		t.Errorf("a broken file: %v, %d", err, status("viewer"))
	}
	s.must(os.WriteFile(path, []byte(strings.Replace(string(text), "name: viewer", "name: another", 1)), 0o600))
	s.must(control.Reload())
	if got := status("viewer"); got != 200 {
		t.Errorf("renamed: %d", got)
	}
	lines := strings.Split(string(text), "\n")
	s.must(os.WriteFile(path, []byte(strings.Join(append(lines[:2:2], lines[3:]...), "\n")), 0o600))
	s.must(control.Reload())
	if got := status("viewer"); got != 401 {
		t.Errorf("taken out: %d", got)
	}
}

// A proxy that is trusted names who asks; anybody else who sends its fields does
// not.
func TestForgedFieldsProveNothing(t *testing.T) {
	for from, want := range map[string]int{"127.0.0.0/8": 200, "10.0.0.0/8": 401} {
		path, tokens := accessFile(t, "proxy: { from: [\""+from+"\"], userHeader: X-User, groupsHeader: X-Groups }\ngrants:\n  - { role: viewer, groups: [staff] }\n  - { role: admin, users: [root@example.com] }\n")
		control, err := access.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s := onFile(t, control)
		if a := s.get("/v1/status", "X-User", "ann", "X-Groups", "other, staff"); a.StatusCode != want {
			t.Errorf("%s: %d %s", from, a.StatusCode, a.body)
		}
		if a := s.get("/v1/status", "X-User", "root@example.com", "X-Forwarded-For", "127.0.0.1"); a.StatusCode != want {
			t.Errorf("%s, admin: %d", from, a.StatusCode)
		}
		// A bad token decides, whatever else is sent.
		if a := s.get("/v1/status", "X-User", "ann", "X-Groups", "staff", "Authorization", "Bearer nonsense"); a.StatusCode != 401 {
			t.Errorf("%s, bad token: %d", from, a.StatusCode)
		}
		if a := s.get("/v1/status", "Authorization", "Basic "+tokens["admin"]); a.StatusCode != 401 {
			t.Errorf("basic: %d", a.StatusCode)
		}
	}
	path, _ := accessFile(t, "proxy: { from: [\"127.0.0.0/8\"], userHeader: X-User }\ngrants: [{ role: viewer, users: [ann, \"token:ann\", \"Token:ann\", \"TOKEN:ann\"] }]\n")
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, control)
	r, _ := http.NewRequest("GET", s.server.URL+"/v1/status", nil)
	r.Header["X-User"] = []string{"ann", "root"}
	res, err := s.server.Client().Do(r)
	s.must(err)
	res.Body.Close()
	if res.StatusCode != 401 {
		t.Errorf("two users: %d", res.StatusCode)
	}
	if a := s.get("/v1/status", "X-User", "bob"); a.StatusCode != 403 {
		t.Errorf("no role: %d", a.StatusCode)
	}
	for _, name := range []string{"ot\xffto", "ot\tto", strings.Repeat("x", 201), ""} {
		if a := s.get("/v1/status", "X-User", name); a.StatusCode != 401 {
			t.Errorf("the user %q: %d %s", name, a.StatusCode, a.body)
		}
	}
	for _, name := range []string{"token:ann", "Token:ann", "TOKEN:ann"} {
		if a := s.get("/v1/status", "X-User", name); a.StatusCode != 401 {
			t.Errorf("a user named like a token, %s: %d", name, a.StatusCode)
		}
	}
}

// A page of another site whose name resolves to this machine gets nothing, nor
// does a browser's request from another origin.
func TestLoopbackServesOnlyItsOwnNames(t *testing.T) {
	s := onFile(t, loopback)
	for host, want := range map[string]int{"": 200, "localhost:9464": 200, "[::1]:9464": 200, "evil.example:9464": 403, "127.0.0.1.evil.example": 403} {
		r, _ := http.NewRequest("GET", s.server.URL+"/v1/status", nil)
		if host != "" {
			r.Host = host
		}
		res, err := s.server.Client().Do(r)
		s.must(err)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%q: %d, want %d", host, res.StatusCode, want)
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "" || res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%q: fields %v", host, res.Header)
		}
	}
}

// One identity that asks too often is put off; another is not.
func TestAnIdentityIsLimited(t *testing.T) {
	path, tokens := accessFile(t, "")
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, control).inMemory()
	synctest.Test(t, func(*testing.T) {
		h := api.New(s.config(control))
		answered := func(role string, asked int) (n int) {
			for range asked {
				r, w := httptest.NewRequest(http.MethodGet, "/v1/openapi.yaml", nil), httptest.NewRecorder()
				r.Header.Set("Authorization", "Bearer "+tokens[role])
				switch h.ServeHTTP(w, r); {
				case w.Code == http.StatusOK:
					n++
				case w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "":
					t.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			return n
		}
		if n := answered("viewer", 600); n != 200 {
			t.Errorf("%d of 600 requests at once were answered, want 200", n)
		}
		if n := answered("admin", 1); n != 1 {
			t.Error("another identity is put off too")
		}
		time.Sleep(time.Second)
		if n := answered("viewer", 600); n != 100 {
			t.Errorf("%d requests were answered a second later, want 100", n)
		}
	})
}

// A client that announces a body and sends none, or nonsense, is answered or cut
// off, and others are served meanwhile.
func TestHostileClients(t *testing.T) {
	s := onFile(t, loopback)
	address := s.server.Listener.Addr().String()
	slow, err := net.Dial("tcp", address)
	s.must(err)
	defer slow.Close()
	fmt.Fprintf(slow, "POST /v1/jobs/tick/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 100\r\n\r\n{")
	for _, raw := range []string{
		"GET /v1/runs?" + strings.Repeat("a=b&", 4<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"BREW /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /v1/runs/%2e%2e%2f%2e%2e HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /v1/jobs/tick/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", address)
		s.must(err)
		_, _ = conn.Write([]byte(raw)) // a server that has seen enough hangs up
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			if res.StatusCode < 400 || res.StatusCode >= 500 {
				t.Errorf("%.60q: %d", raw, res.StatusCode)
			}
			res.Body.Close()
		}
		conn.Close()
	}
	if a := s.get("/v1/status"); a.StatusCode != 200 {
		t.Errorf("meanwhile: %d", a.StatusCode)
	}
	res, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil || res.StatusCode != http.StatusRequestTimeout {
		t.Fatalf("the body that never came: %+v, %v", res, err)
	}
	res.Body.Close()
}

// A body that fails before its time is up is a mistake of the request, not a late one.
func TestABodyThatCannotBeReadIsInvalid(t *testing.T) {
	s := onFile(t, loopback)
	for name, rest := range map[string]string{
		"a malformed chunk": "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"cut off":           "Content-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
		s.must(err)
		fmt.Fprintf(conn, "POST /v1/jobs/tick/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\n%s", rest)
		s.must(conn.(*net.TCPConn).CloseWrite())
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		s.must(err)
		var p api.Problem
		s.must(json.NewDecoder(res.Body).Decode(&p))
		if res.StatusCode != http.StatusBadRequest || p.Code != "invalid_request" {
			t.Errorf("%s: %d %+v", name, res.StatusCode, p)
		}
		res.Body.Close()
		conn.Close()
	}
}
