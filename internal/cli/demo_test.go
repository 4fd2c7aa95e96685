package cli_test

import (
	"strings"
	"testing"
)

func TestDemoShowsOneEffectForEachScheduledTime(t *testing.T) {
	t.Parallel()
	p := spawn(t, nil, "demo", "--duration", "6s")
	if code := p.Wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for _, line := range []string{"doubled      0", "lost         0", "effects = scheduled", "killed 1 times"} {
		if !strings.Contains(p.Log.String(), line) {
			t.Errorf("no %q in\n%s", line, p.Log)
		}
	}
}

// With --ui the demo can be watched, and looked at until it is stopped.
func TestDemoCanBeWatched(t *testing.T) {
	t.Parallel()
	p := spawn(t, nil, "demo", "--duration", "1s", "--ui")
	var address string
	eventually(t, "the dashboard's address", func() bool {
		_, rest, found := strings.Cut(p.Log.String(), "Watch it in a browser: http://")
		address, _, _ = strings.Cut(rest, "/")
		return found && strings.Contains(rest, "/")
	})
	eventually(t, "runs on the dashboard", func() bool { return strings.Contains(body(address, "/runs"), "release-eu@") })
	eventually(t, "the verdict", func() bool { return strings.Contains(p.Log.String(), "until Ctrl-C") })
	if text := body(address, "/jobs"); !strings.Contains(text, "close-asia") || !strings.Contains(p.Log.String(), "effects = scheduled") {
		t.Errorf("after the verdict: %s\n%s", text, p.Log)
	}
	if code := p.Interrupt(); code != exitDone {
		t.Errorf("exit %d", code)
	}
}

func TestDemoCanBeInterrupted(t *testing.T) {
	t.Parallel()
	p := spawn(t, nil, "demo", "--duration", "1m")
	eventually(t, "the demo to begin", func() bool { return strings.Contains(p.Log.String(), "scheduled=") })
	if code := p.Interrupt(); code != 1 || !strings.Contains(p.Log.String(), "interrupted") {
		t.Errorf("exit %d: %s", code, p.Log)
	}
}
