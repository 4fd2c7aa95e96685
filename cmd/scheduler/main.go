// Command cronce runs a registry's scheduled admin calls, each under a run ID
// that is the target's idempotency key, and shows what became of them.
//
// This package only wires: one file a command, each calling the packages that
// do the work.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
)

func main() {
	// net/http prints through the standard logger what a target sends out of
	// turn, with the target's own bytes. Those could hold a secret that we sent.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process, unless a command watches for it
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
