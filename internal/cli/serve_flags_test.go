package cli_test

import (
	"maps"
	"strings"
	"testing"
)

func TestServeRefusesFlagsThatItCouldNotKeep(t *testing.T) {
	t.Parallel()
	for flag, value := range map[string]string{
		"--max-in-flight": "0", "--lease": "10ms", "--grace": "0s", "--ledger-wait": "-1s",
	} {
		code, _, errs := invoke(t, nil, "serve", flag, value)
		if code != exitUsage || !strings.Contains(errs, flag+" "+value) {
			t.Errorf("%s %s: exit %d: %s", flag, value, code, errs)
		}
	}
}

// systemd does not restart a process that ends with exit code 2: another start with the
// same settings has the same end. No ledger is made.
func TestServeEndsForGoodForWrongSettings(t *testing.T) {
	t.Parallel()
	flags := map[string][]string{
		"--allow-target":  {"http://x", "a..b", "10.0.0.0/33", ",", " ", "a.example,b.example:443"},
		"--access":        {"/nowhere/access.yaml", "/", " "},
		"--color":         {"pink"},
		"--config":        {"/nowhere/cronce.yaml", "/", " "},
		"--db":            {"nope", "mysql://db/x", "sqlite:", "sqlite:/nowhere/l.db", "sqlite:/", "sqlite:root.go", "sqlite::memory:", "postgres://db:0/x", "postgres://db/x?sslmode=nope", " "},
		"--grace":         {"0s", "1", "soon"},
		"--lease":         {"10ms", "30"},
		"--ledger-wait":   {"-1s", "x"},
		"--listen":        {"nonsense", "127.0.0.1:99999"},
		"--listen-jwks":   {"nonsense", "..:80"},
		"--log-format":    {"xml"},
		"--log-level":     {"loud"},
		"--max-in-flight": {"0", "many", "99999999999999999999"},
		"--no-migrate":    {"maybe"},
		"--output":        {"xml"},
		"--public-url":    {"cronce.example.com", "https://../..", "https://me:s3cret@cronce.example.com", "https://ops.example.com/cronce"},
		"--server":        {"https://cronce.example.com"},
		"--watch":         {"maybe"},
		"--nonsense":      {"1"},
	}
	variables := map[string][]string{
		"CRONCE_ACCESS": {"/nowhere/access.yaml", ""}, "CRONCE_ALLOW_TARGET": {"http://x", ""},
		"CRONCE_CONFIG": {"/nowhere/cronce.yaml", ""}, "CRONCE_DATABASE_URL": {"nope", "", "sqlite:/nowhere/l.db"}, "CRONCE_GRACE": {"0s", "1"},
		"CRONCE_LEASE": {"10ms", "30"}, "CRONCE_LEDGER_WAIT": {"-1s", ""}, "CRONCE_LISTEN_JWKS": {"nonsense", ""}, "CRONCE_LOG_FORMAT": {"xml"},
		"CRONCE_LOG_LEVEL": {"loud"}, "CRONCE_MAX_IN_FLIGHT": {"0", "many"}, "CRONCE_NO_MIGRATE": {"maybe"}, "CRONCE_PUBLIC_URL": {"nonsense", ""},
		"CRONCE_WATCH": {"maybe"}, "MEMBERSHIP_URL": {"https://../..", ""}, "MEMBERSHIP_TOKEN": {"s3 cret", ""},
		"OTEL_EXPORTER_OTLP_ENDPOINT": {"nonsense"}, "HTTPS_PROXY": {"http://me:s3cret@proxy:port"}, "http_proxy": {"htp://proxy"},
	}
	d := newDesk(t, membershipRegistry)
	refused := func(setting, value string, args ...string) {
		t.Helper()
		if code, _, errs := d.run(append([]string{"serve"}, args...)...); code != exitUsage || strings.Contains(errs, "s3cret") || d.exists("ledger.db") {
			t.Errorf("%s=%q: exit %d: %s", setting, value, code, errs)
		}
	}
	for flag, values := range flags {
		for _, value := range values {
			refused(flag, value, "--listen=", flag+"="+value)
		}
	}
	d.env["CRONCE_LISTEN"] = ""
	right := maps.Clone(d.env)
	for variable, values := range variables {
		for _, value := range values {
			d.env[variable] = value
			refused(variable, value)
			d.env = maps.Clone(right)
		}
	}
	d.env["CRONCE_LISTEN"] = "nonsense"
	refused("CRONCE_LISTEN", "nonsense")
}

// What is no address is a usage error, before anything is opened.
func TestServeRefusesAnAddressThatIsNone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	for _, address := range []string{"nonsense", ":", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:nope", "...:9464", "::1:9464x", "a b:1"} {
		code, _, errs := d.run("serve", "--listen", address)
		if code != exitUsage || !strings.Contains(errs, "invalid --listen") || d.exists("ledger.db") {
			t.Errorf("%q: exit %d: %s", address, code, errs)
		}
	}
}
