//go:build unix

package idempotencytest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// process is a running child.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// start runs the calling test in another process.
func start(t *testing.T, c child) *process {
	t.Helper()
	text, err := json.Marshal(c)
	ok(t, err)
	// The test that RunFaults was called from, which has subtests of its own by
	// now: one for the case, and perhaps one for the boundary.
	test, _, _ := strings.Cut(t.Name(), "/a_process_")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.count=1",
		"-test.run=^"+strings.ReplaceAll(test, "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	p := &process{t: t, cmd: cmd}
	p.stdin, err = cmd.StdinPipe()
	ok(t, err)
	stdout, err := cmd.StdoutPipe()
	ok(t, err)
	p.lines = bufio.NewScanner(stdout)
	ok(t, cmd.Start())
	return p
}

// next is the next thing that it says, "" when it has ended. What the testing
// package prints is not of interest.
func (p *process) next() string {
	for p.lines.Scan() {
		line := p.lines.Text()
		if answer, is := strings.CutPrefix(line, saysAnswered); is {
			return answer
		}
		if line == saysStopped {
			return line
		}
	}
	return ""
}

// answer is what it answered its request with.
func (p *process) answer() string {
	p.t.Helper()
	said := p.next()
	if said == "" || said == saysStopped {
		p.t.Errorf("the other process did not answer, it said %q", said)
	}
	return said
}

// stop stops all of it.
func (p *process) stop() {
	p.t.Helper()
	ok(p.t, p.cmd.Process.Signal(syscall.SIGSTOP))
}

func (p *process) goOn() {
	p.t.Helper()
	ok(p.t, p.cmd.Process.Signal(syscall.SIGCONT))
	_, err := fmt.Fprintln(p.stdin)
	ok(p.t, err)
}

func (p *process) kill() {
	p.t.Helper()
	ok(p.t, p.cmd.Process.Kill())
}

// wait says how it ended.
func (p *process) wait() string {
	for p.lines.Scan() { // to its end, as Wait wants it
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.String()
}
