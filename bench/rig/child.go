package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// maxWait bounds each step of a round.
const maxWait = 5 * time.Minute

// A Contender is one way to do the work.
type Contender struct {
	Name  string
	Store Store
	// Run does the work in a child process and returns when it has been told
	// to Done; its context ends when the parent does.
	Run func(context.Context, *Task) error
	// Command, in the place of Run, is another program that does the work as a
	// child: it finds the task in BENCH_TASK, prints the same lines, and ends
	// with its standard input.
	Command []string
	// Silent: it makes no call, which the target must confirm.
	Silent bool
	// Stored counts the outcomes in the database; nil: it stores none.
	Stored func(ctx context.Context, database string) (int, error)
}

// Store is the database that a contender is given.
type Store string

const (
	Nothing    Store = ""
	SQLite     Store = "sqlite" // the path of a file that is not there yet
	PostgreSQL Store = "postgres"
)

// Task is what a child is asked to do.
type Task struct {
	Contender string
	Runs      int
	Target    string // URL to POST to
	Database  string
	// At is the scheduled time at which to begin, if the parent set it.
	At time.Time
}

// line is what a child tells its parent.
type line struct {
	At     time.Time
	Report json.RawMessage
	Error  string
}

// Begin tells the parent when the work begins: everything before that scheduled time
// is preparation and is not measured.
func (t *Task) Begin(at time.Time) {
	t.profile(at)
	say(line{At: at})
}

// BeginSoon is Begin for work that can start at any time; it returns then.
func (t *Task) BeginSoon() {
	at := time.Now().Add(time.Second)
	t.Begin(at)
	time.Sleep(time.Until(at))
}

// Done tells the parent that all outcomes are stored, with what the contender
// measured by itself.
func (t *Task) Done(report any) {
	t.profiled()
	b, err := json.Marshal(report)
	if err != nil {
		b = nil
	}
	say(line{Report: b})
}

func say(l line) {
	b, err := json.Marshal(l)
	if err == nil {
		_, _ = os.Stdout.Write(append(b, '\n'))
	}
}

const childMark = "BENCH_TASK"

// Child does a child's work and never returns, if this process is one. Call it
// first in main.
func Child(contenders ...Contender) {
	given, ok := os.LookupEnv(childMark)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		cancel()
	}()
	var task Task
	err := json.Unmarshal([]byte(given), &task)
	if err == nil {
		err = run(ctx, &task, contenders)
	}
	if err != nil {
		say(line{Error: err.Error()})
		os.Exit(1)
	}
	<-ctx.Done() // the parent still reads this process's figures
	os.Exit(0)
}

func run(ctx context.Context, task *Task, contenders []Contender) error {
	if task.Contender == targetName {
		return serveTarget()
	}
	for _, c := range contenders {
		if c.Name == task.Contender {
			return c.Run(ctx, task)
		}
	}
	return fmt.Errorf("no contender %q", task.Contender)
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan line
}

// start starts a child: the contender's own command, or this program again.
func start(command []string, task Task) (*process, error) {
	given, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	if len(command) == 0 {
		command = os.Args[:1]
	}
	p := &process{cmd: exec.Command(command[0], command[1:]...), lines: make(chan line, 2)}
	p.cmd.Env = append(os.Environ(), childMark+"="+string(given))
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

func (p *process) read(out io.Reader) {
	defer close(p.lines)
	for s := bufio.NewScanner(out); s.Scan(); {
		l := line{}
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			l.Error = fmt.Sprintf("a child printed %q", strings.TrimSpace(s.Text()))
		}
		p.lines <- l
	}
}

// next waits for the child's next line.
func (p *process) next() (line, error) {
	select {
	case l, ok := <-p.lines:
		switch {
		case !ok:
			return l, errors.New("the child ended early")
		case l.Error != "":
			return l, errors.New(l.Error)
		}
		return l, nil
	case <-time.After(maxWait):
		return line{}, fmt.Errorf("nothing from the child in %v", maxWait)
	}
}

// stop ends the child and waits for it.
func (p *process) stop() {
	p.stdin.Close()
	kill := time.AfterFunc(30*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for range p.lines { // until its output ends, as Wait wants it
	}
	_ = p.cmd.Wait()
}
