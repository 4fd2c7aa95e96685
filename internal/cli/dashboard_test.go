package cli_test

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// The dashboard answers on a loopback address, by one of this machine's names. On
// any other address it does not, and the log says why.
func TestTheDashboardIsForThisMachineOnly(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	config := writeFile(t, everySecond)
	serve := func(listen string) *process {
		return spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", listen)
	}
	local, public := serve("127.0.0.1:0"), serve("0.0.0.0:0")
	at := local.address()
	if text := body(at, "/jobs/tick"); !strings.Contains(text, "every second") || !strings.Contains(local.Log.String(), "url=http://"+at+"/") {
		t.Errorf("the dashboard on %s is %s", at, text)
	}
	foreign, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host = "rebound.example"
	if r, err := http.DefaultClient.Do(foreign); err != nil || r.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("asked as %s: %v, %v", foreign.Host, r, err)
	}
	_, port, err := net.SplitHostPort(public.address())
	if err != nil {
		t.Fatal(err)
	}
	if code := get("127.0.0.1:"+port, "/"); code != http.StatusForbidden || !strings.Contains(public.Log.String(), "dashboard not served") {
		t.Errorf("on every address: %d\n%s", code, public.Log.String())
	}
	if get("127.0.0.1:"+port, "/healthz") != http.StatusOK {
		t.Error("/healthz is not answered on every address")
	}
	local.Interrupt()
	public.Interrupt()
}

// With an access file those whom it grants a role see the dashboard, on any
// address; nobody else does, on a loopback address neither.
func TestTheDashboardAsksTheAccessFile(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	rules := writeFile(t, "version: 1\nproxy: { from: [127.0.0.1/32], userHeader: X-User }\ngrants:\n  - { role: viewer, users: [ann] }\n")
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, everySecond), "--access", rules,
		"--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "127.0.0.1:0", "--allow-host", "cronce.example")
	at := p.address()
	for user, want := range map[string]int{"": http.StatusUnauthorized, "mallory": http.StatusForbidden, "ann": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/jobs/tick", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "cronce.example"
		if user != "" {
			r.Header.Set("X-User", user)
		}
		if got, err := http.DefaultClient.Do(r); err != nil || got.StatusCode != want {
			t.Errorf("user %q: %v, %v, want %d", user, got, err, want)
		}
	}
	p.Interrupt()
}

// The commands of docs/deploy.md for a browser: a token that is printed once, in the file
// of its hash, opens the page on any address.
func TestABrowserAsksForAToken(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	code, token, file := invoke(t, nil, "access", "token", "me", "--role", "admin")
	if code != exitDone {
		t.Fatal(file)
	}
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, everySecond), "--access", writeFile(t, file),
		"--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "0.0.0.0:0")
	_, port, err := net.SplitHostPort(p.address())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path, password, site string
		status               int
		challenge            string
	}{
		{"/", "", "", http.StatusUnauthorized, `Basic realm="cronce", charset="UTF-8"`},
		{"/", "a guess", "", http.StatusUnauthorized, `Basic realm="cronce", charset="UTF-8"`},
		{"/", strings.TrimSpace(token), "", http.StatusOK, ""},
		{"/jobs/tick", strings.TrimSpace(token), "none", http.StatusOK, ""},
		{"/v1/status", strings.TrimSpace(token), "same-origin", http.StatusOK, ""},
		{"/v1/status", "", "", http.StatusUnauthorized, `Bearer realm="cronce"`}, // no prompt over the page
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:"+port+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.password != "" {
			r.SetBasicAuth("anybody", tc.password)
		}
		r.Header.Set("Sec-Fetch-Site", tc.site)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != tc.status || got.Header.Get("WWW-Authenticate") != tc.challenge {
			t.Errorf("%+v: %d, %q", tc, got.StatusCode, got.Header.Get("WWW-Authenticate"))
		}
	}
	for _, path := range []string{"/v1/jobs/tick/pause", "/actions/pause"} { // a form on another site sends the password too
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:"+port+path, strings.NewReader("job=tick&why=x&key=k-1"))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("anybody", strings.TrimSpace(token))
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if got, err := http.DefaultClient.Do(r); err != nil || got.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if out := p.Log.String(); strings.Contains(out, strings.TrimSpace(token)) {
		t.Error("the log shows the token")
	}
	p.Interrupt()
}
