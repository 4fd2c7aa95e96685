package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// restartPause keeps a service that ends at once from using up the machine.
	restartPause = 200 * time.Millisecond
	// stopWithin is how long a service may take to stop before it is killed.
	stopWithin = 5 * time.Second
)

// supervise starts a service and starts it again whenever it ends. stop ends it
// and waits.
func (a *app) supervise(ctx context.Context, command []string) (stop func(), err error) {
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, usage("cannot start the service: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if err := a.serviceProcess(ctx, command).Run(); ctx.Err() == nil {
				fmt.Fprintf(a.err, "cronce: the service ended (%v); it is started again\n", ended(err))
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

// serviceProcess is a service whose output goes to standard error: standard
// output is the report's.
func (a *app) serviceProcess(ctx context.Context, command []string) *exec.Cmd {
	service := exec.CommandContext(ctx, command[0], command[1:]...)
	service.Stdout, service.Stderr = a.err, a.err
	service.WaitDelay = stopWithin
	service.Cancel = func() error {
		err := service.Process.Signal(syscall.SIGTERM)
		if errors.Is(err, errors.ErrUnsupported) {
			return service.Process.Kill()
		}
		return err
	}
	return service
}
