// Package fakelambda runs a Lambda function's binary as AWS does, for tests: a
// process that asks the Runtime API for events (the public protocol: next,
// response, error; see "Using the Lambda runtime API" in AWS's documentation).
//
// An Environment is one execution environment. It gives a process one event at
// a time, the same event and request id as often as the test likes, ends the
// process when an event's deadline has passed, and starts another for the next
// event, as the platform does.
package fakelambda

import (
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testproc"
)

// Event is one delivery.
type Event struct {
	RequestID string
	Payload   string
	Timeout   time.Duration // from when the process takes it until the deadline; default 30s
}

// FunctionError is what a function reports to the platform.
type FunctionError struct {
	Message string `json:"errorMessage"`
	Type    string `json:"errorType"`
}

// Outcome is what became of a delivery. Exactly one of Response, Error,
// TimedOut and Crashed says it.
type Outcome struct {
	Response []byte
	Error    *FunctionError
	TimedOut bool // no answer by the deadline, or soon after; the process was killed
	Crashed  bool // the process ended without an answer
	// InitError is what a process that crashed at its start reported before.
	InitError *FunctionError
	Cold      bool // a process was started for it
}

// Environment is one execution environment. One goroutine at a time uses it,
// except for Kill.
type Environment struct {
	t      testing.TB
	binary string
	vars   []string

	mu      sync.Mutex
	process *process
	log     testproc.Log
}

// New prepares an environment for a binary, with variables beside those of the
// test. The process is started for the first event and killed when the test
// ends; its log is shown when the test has failed.
func New(t testing.TB, binary string, vars ...string) *Environment {
	t.Helper()
	e := &Environment{t: t, binary: binary, vars: vars}
	t.Cleanup(func() {
		e.Kill()
		if t.Failed() {
			t.Logf("log of the function:\n%s", e.Log())
		}
	})
	return e
}

// Log is all that the processes have written.
func (e *Environment) Log() string { return e.log.String() }

// Kill ends the process at once, as a crash of its machine does.
func (e *Environment) Kill() {
	e.mu.Lock()
	p := e.process
	e.process = nil
	e.mu.Unlock()
	if p != nil {
		p.kill()
	}
}

// Invoke delivers an event and waits for what becomes of it.
func (e *Environment) Invoke(ev Event) Outcome {
	e.t.Helper()
	if ev.Timeout <= 0 {
		ev.Timeout = 30 * time.Second
	}
	p, cold := e.running()
	if p == nil {
		return Outcome{Crashed: true, Cold: true}
	}
	out := p.deliver(ev)
	out.Cold = cold
	if out.TimedOut || out.Crashed {
		e.Kill()
	}
	return out
}

// running is the process, started if there is none.
func (e *Environment) running() (p *process, cold bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process != nil {
		return e.process, false
	}
	p = newProcess()
	p.cmd = exec.Command(e.binary)
	p.cmd.Env = append(append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+p.address(), "AWS_LAMBDA_FUNCTION_NAME=test",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "AWS_LAMBDA_FUNCTION_VERSION=1"), e.vars...)
	p.cmd.Stdout, p.cmd.Stderr = &e.log, &e.log
	if err := p.start(); err != nil {
		e.t.Errorf("the function does not start: %v", err)
		return nil, true
	}
	e.process = p
	return p, true
}

func parseError(body []byte) *FunctionError {
	var f FunctionError
	if err := json.Unmarshal(body, &f); err != nil {
		f.Message = string(body)
	}
	return &f
}

// Freeze stops the process where it is (SIGSTOP), once, until it is killed for
// having passed its event's deadline.
func (e *Environment) Freeze() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == nil {
		return
	}
	if err := e.process.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		e.t.Errorf("the function cannot be stopped: %v", err)
	}
	close(e.process.frozen)
}
