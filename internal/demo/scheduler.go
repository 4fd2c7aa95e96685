package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// scheduler is a cronce process of its own, so that it can be killed without
// warning, as machines do.
type scheduler struct {
	binary string
	dir    string
	env    []string
	cmd    *exec.Cmd
	log    *os.File
	kills  int
}

// start runs "serve" on a registry file.
func (s *scheduler) start(registry string) error {
	var err error
	if s.log, err = os.OpenFile(filepath.Join(s.dir, "scheduler.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	s.cmd = exec.Command(s.binary, "serve", "--config", registry, "--db", "sqlite:"+s.ledger(),
		"--listen", "", "--lease", "1500ms", "--grace", "3s")
	s.cmd.Env = append(os.Environ(), s.env...)
	s.cmd.Stderr = s.log
	s.cmd.SysProcAttr = ownGroup()
	return s.cmd.Start()
}

func (s *scheduler) ledger() string { return filepath.Join(s.dir, "ledger.db") }

// kill ends the process at once: no handler runs, nothing is flushed.
func (s *scheduler) kill() {
	s.kills++
	s.end(func() { _ = s.cmd.Process.Kill() })
}

// stop asks the process to end gracefully, for at most ten seconds.
func (s *scheduler) stop() {
	s.end(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
		defer timer.Stop()
		_ = s.cmd.Wait()
	})
}

func (s *scheduler) end(how func()) {
	if s.cmd == nil {
		return
	}
	how()
	_ = s.cmd.Wait() // how it ended is what was asked for
	s.cmd = nil
	_ = s.log.Close()
}

// restart kills the process in the middle of its work and starts another one.
func (s *scheduler) restart(ctx context.Context, registry string) error {
	s.kill()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := s.start(registry); err != nil {
		return fmt.Errorf("start the scheduler again: %w", err)
	}
	return nil
}
