package target

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/cronce/cronce/internal/cli/command"
)

const (
	// restartPause keeps a service that ends at once from using up the machine.
	restartPause = 200 * time.Millisecond
	// stopWithin is how long a service may take to stop before it is killed.
	stopWithin = 5 * time.Second
)

// supervise starts a service and starts it again whenever it ends. stop ends it
// and waits.
func (a *app) supervise(ctx context.Context, service []string) (stop func(), err error) {
	if _, err := exec.LookPath(service[0]); err != nil {
		return nil, command.Usage("cannot start the service: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			err := a.serviceProcess(ctx, service).Run()
			if ctx.Err() == nil {
				fmt.Fprintf(a.Err, "cronce: the service ended (%v); it is started again\n", ended(err))
			}
			select {
			case <-ctx.Done():
			case <-time.After(restartPause):
			}
		}
	})
	return func() { cancel(); running.Wait() }, nil
}

func ended(err error) any {
	if err == nil {
		return "exit status 0"
	}
	return err
}

// serviceProcess returns the process of the service. Its output goes to standard error: standard output is the
// report's. It gets SIGTERM first, and is killed after stopWithin.
func (a *app) serviceProcess(ctx context.Context, service []string) *exec.Cmd {
	process := exec.CommandContext(ctx, service[0], service[1:]...)
	process.Stdout, process.Stderr = a.Err, a.Err
	process.WaitDelay = stopWithin
	process.Cancel = func() error {
		err := process.Process.Signal(syscall.SIGTERM)
		if errors.Is(err, errors.ErrUnsupported) {
			return process.Process.Kill()
		}
		return err
	}
	return process
}
