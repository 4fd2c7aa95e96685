package browsertest_test

import (
	"os/exec"
)

// browserPath is the browser that scripts/install-browser installs, or another of
// its kind.
func browserPath() string {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return "chromium-headless-shell" // the error names it
}
