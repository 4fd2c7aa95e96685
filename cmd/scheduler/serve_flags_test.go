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
