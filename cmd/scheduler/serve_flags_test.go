package main

import (
	"strings"
	"testing"
)

func TestServeRefusesFlagsThatItCouldNotKeep(t *testing.T) {
	t.Parallel()
	for flag, value := range map[string]string{
		"--max-in-flight": "0", "--lease": "10ms", "--grace": "0s", "--ledger-patience": "-1s",
	} {
		code, _, errs := invoke(t, nil, "serve", flag, value)
		if code != exitUsage || !strings.Contains(errs, flag+" "+value) {
			t.Errorf("%s %s: exit %d: %s", flag, value, code, errs)
		}
	}
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
