package cli_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/access"
)

// A page whose name resolves to this machine gets nothing of any path, whatever identity
// it claims, with and without an access file.
func TestForeignHostsGetNothing(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	rules := writeFile(t, "version: 1\nproxy: { from: [127.0.0.1/32], userHeader: X-User }\ngrants:\n  - { role: admin, users: [ann] }\n")
	for name, flags := range map[string][]string{"an access file": {"--access", rules}, "none": nil} {
		p := spawn(t, []string{"SVC_URL=" + svc.URL, "CRONCE_ALLOW_HOST=cronce-1,cronce.internal"}, append([]string{"serve", "--config", writeFile(t, everySecond),
			"--db", "sqlite:" + filepath.Join(t.TempDir(), "l.db"), "--listen", "127.0.0.1:0", "--public-url", "https://cronce.example.com/"}, flags...)...)
		at := p.address()
		eventually(t, "a process that is ready", func() bool { return get(at, "/readyz") == http.StatusOK })
		for host, origins := range map[string]map[string]int{
			"rebound.example": {"": 421, "http://rebound.example": 421},
			at:                {"": 200, "http://" + at: 200, "http://rebound.example": 403, "null": 403},
			"localhost":       {"": 200},
			"cronce-1:9464":   {"": 200},
			"cronce.internal": {"": 200, "https://cronce.example.com": 200},
			"example.com":     {"": 421},
		} {
			for origin, want := range origins {
				for _, path := range []string{"/", "/jobs/tick", "/v1/status", "/v1/jobs/tick", "/metrics", "/readyz", "/healthz", "/.well-known/jwks.json"} {
					if (path == "/" || strings.HasPrefix(path, "/jobs") || strings.HasPrefix(path, "/v1")) && flags == nil && strings.Contains(host, "cronce") {
						continue // without an access file these are for this machine's own names
					}
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+path, nil)
					if err != nil {
						t.Fatal(err)
					}
					r.Host = host
					r.Header.Set("X-User", "ann")
					if origin != "" {
						r.Header.Set("Origin", origin)
					}
					res, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					text, _ := io.ReadAll(res.Body)
					res.Body.Close()
					if res.StatusCode != want || want != 200 && strings.Contains(string(text), "tick") {
						t.Errorf("%s, host %q, origin %q, %s: %d, want %d\n%s", name, host, origin, path, res.StatusCode, want, text)
					}
				}
			}
		}
		p.Interrupt()
	}
}

// A proxy on this machine without a token is found before the deploy, and logged.
func TestAProxyWithoutATokenIsWarnedOf(t *testing.T) {
	t.Parallel()
	_, hash := access.NewToken()
	text := "version: 1\nproxy: { from: [127.0.0.1/32], userHeader: X-User }\ngrants:\n  - { role: admin, users: [ann] }\n"
	sound := strings.Replace(text, "userHeader", "hashes: [\""+hash+"\"], userHeader", 1)
	config := writeFile(t, everySecond)
	for name, c := range map[string]struct {
		text, want string
		code       int
	}{
		"without a token": {text, "Cronce-Proxy-Token", exitDone},
		"with a token":    {sound, "", exitDone},
		"everywhere":      {strings.Replace(text, "127.0.0.1/32", "0.0.0.0/1, 128.0.0.0/1", 1), "give only the addresses", exitUsage},
	} {
		file := writeFile(t, c.text)
		env := map[string]string{"CRONCE_ACCESS": file, "SVC_URL": "http://127.0.0.1:1"}
		for _, args := range [][]string{{"access", "check", file}, {"check", "--config", config}} {
			code, out, errs := invoke(t, env, args...)
			if code != c.code || c.want == "" && errs != "" || !strings.Contains(errs, c.want) {
				t.Errorf("%s: %v: exit %d: %s%s", name, args, code, out, errs)
			}
		}
		if c.code != exitDone {
			if code, _, errs := invoke(t, env, "serve", "--config", config, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "127.0.0.1:0"); code != exitUsage || !strings.Contains(errs, c.want) {
				t.Errorf("%s: serve: exit %d: %s", name, code, errs)
			}
			continue
		}
		p := spawn(t, []string{"SVC_URL=http://127.0.0.1:1"}, "serve", "--config", config, "--access", file, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "127.0.0.1:0")
		p.address()
		p.Interrupt()
		if logged := strings.Contains(p.Log.String(), "access file is weak"); logged != (c.want != "") {
			t.Errorf("%s: logged: %t\n%s", name, logged, p.Log)
		}
	}
}
