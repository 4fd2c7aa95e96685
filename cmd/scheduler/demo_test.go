package main

import (
	"strings"
	"testing"
)

func TestDemoShowsOneEffectForEachTick(t *testing.T) {
	t.Parallel()
	p := spawn(t, nil, "demo", "--duration", "6s")
	if code := p.wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for _, line := range []string{"doubled      0", "lost         0", "effects = ticks", "killed 1 times"} {
		if !strings.Contains(p.log.String(), line) {
			t.Errorf("no %q in\n%s", line, p.log)
		}
	}
}

func TestDemoCanBeInterrupted(t *testing.T) {
	t.Parallel()
	p := spawn(t, nil, "demo", "--duration", "1m")
	eventually(t, "the demo to begin", func() bool { return strings.Contains(p.log.String(), "ticks=") })
	if code := p.terminate(); code != 1 || !strings.Contains(p.log.String(), "interrupted") {
		t.Errorf("exit %d: %s", code, p.log)
	}
}
