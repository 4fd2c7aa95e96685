package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// process is a program that can be killed, suspended and started again. Its
// output goes to one file over all of its lives.
type process struct {
	name string
	dir  string
	env  []string
	args []string // the program and its arguments

	cmd     *exec.Cmd
	ended   chan struct{} // closed when this life is over
	wanted  atomic.Bool   // its end is intended; set before it is killed
	crashed atomic.Bool   // it ended, and that was not intended
}

func (p *process) log() string { return filepath.Join(p.dir, p.name+".log") }

func (p *process) start() error {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is the harness's
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	p.wanted.Store(false)
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended shows in its log
		if !p.wanted.Load() {
			p.crashed.Store(true)
		}
	}()
	return nil
}

func (p *process) alive() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill ends the process at once, with all that it has started: nothing is flushed,
// no handler runs.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	p.wanted.Store(true)
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

func (p *process) suspend() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) carryOn() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
func (p *process) askToEnd() error {
	p.wanted.Store(true)
	return p.cmd.Process.Signal(syscall.SIGTERM)
}

// terminate asks the process to end; one that does not is killed, and that is
// an error.
func (p *process) terminate(maxWait time.Duration) error {
	if !p.alive() {
		return nil
	}
	if err := p.askToEnd(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(maxWait):
		p.kill()
		return fmt.Errorf("%s did not end within %v of being asked to", p.name, maxWait)
	}
}

// tail is the end of the process's log.
func (p *process) tail(lines int) string {
	text, err := os.ReadFile(p.log())
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
