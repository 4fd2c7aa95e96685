// Package testproc runs a program in a process of its own, for tests.
package testproc

import (
	"bytes"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// MaxWait is how long Wait waits for the end of a process, on a machine however busy.
const MaxWait = 2 * time.Minute

// Process is a running program.
type Process struct {
	Cmd *exec.Cmd
	Log *Log // what it has printed
	t   testing.TB
}

// Start starts a command, with variables beside those of the test. Those of its streams
// that are not set go to Log. When the test ends, the process is killed, and its log is
// shown if the test has failed.
func Start(t testing.TB, cmd *exec.Cmd, env ...string) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, Log: &Log{}, t: t}
	cmd.Env = append(append(os.Environ(), cmd.Env...), env...)
	if cmd.Stdout == nil {
		cmd.Stdout = p.Log
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p.Log
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("log of %v:\n%s", cmd.Args, p.Log)
		}
	})
	return p
}

// Kill ends the process at once.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	_ = p.Cmd.Wait()
}

// Interrupt asks the process to stop, as Ctrl-C does, and returns its exit code.
func (p *Process) Interrupt() int {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	return p.Wait()
}

// Wait waits for the end of the process and returns its exit code. It kills the process
// after MaxWait.
func (p *Process) Wait() int {
	timer := time.AfterFunc(MaxWait, func() { _ = p.Cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.Cmd.Wait()
	return p.Cmd.ProcessState.ExitCode()
}

// Log is text that can be read while it is written.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
