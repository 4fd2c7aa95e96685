// Package cli is the command line of cronce: one file a command, each of which
// calls the packages that do the work.
package cli

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/cronce/cronce/internal/buildinfo"
)

// Main runs the command of os.Args until it ends or a signal stops it, and
// calls exit with the exit code. version is the build's, or empty.
func Main(version string, exit func(code int)) {
	// net/http prints through the standard logger what a target sends out of
	// turn, with the target's own bytes. Those could hold a secret that we sent.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process, unless a command watches for it
	a := &app{streams: streams{os.Stdin, os.Stdout, os.Stderr}, version: buildinfo.Version(version), lookup: os.LookupEnv, now: time.Now, exit: exit}
	code := a.run(ctx, os.Args[1:])
	stop()
	exit(code)
}

// streams are where a command reads and prints.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}
