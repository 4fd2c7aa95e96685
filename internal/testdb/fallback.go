package testdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// dockerAnswers reports whether a Docker engine (not just its client) is there.
func dockerAnswers() bool {
	ctx, cancel := bounded()
	defer cancel()
	return exec.CommandContext(ctx, "docker", "version", "--format", "{{.Server.Version}}").Run() == nil
}

const installer = "scripts/install-databases"

// install runs the repository's install script, which needs root.
func install() error {
	if os.Geteuid() != 0 {
		return errors.New("not root")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		script := filepath.Join(dir, installer)
		if _, err := os.Stat(script); err != nil {
			continue
		}
		if out, err := exec.Command(script).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", installer, err, out)
		}
		return nil
	}
	return fmt.Errorf("%s not found in or above the working directory", installer)
}
