// Command cronce runs a registry's scheduled admin calls, each under a run-id
// that is the target's idempotency key, and shows what became of them.
//
// This package only wires: one file a command, each calling the packages that
// do the work.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, os.LookupEnv)
	stop()
	os.Exit(code)
}

// streams are where a command reads and prints.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}
