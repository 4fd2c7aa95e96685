// Package cli is the command line of cronce. Each folder is a family of commands,
// a file for each command or small group, each of which calls the packages that do the work:
//
//	registry   init, import, schema, check, next, diff: the registry file
//	target     try, conform, notify: tests of targets and channels with real calls
//	serve      serve, health: the scheduler
//	operate    status, jobs, runs, schedules, incidents, pauses, audit, why, trigger, backfill
//	storage    migrate, purge, backup: the tables
//	keys       keys, access: keys that sign calls, and tokens of the API
//	deploy     export: files for platforms
//
// The families know nothing of each other. They share command (flags and output),
// backend (opens the registry, a ledger or a server) and caller (makes calls). The tests
// here run whole commands.
//
// Begin with root.go, which puts the families together, and operate/jobs.go, a usual
// command: a function makes the cobra command, whose Long says for users what it does;
// a second one does it; a third prints the result. All output goes through command.Env,
// so that tests can read it and -o json works everywhere.
package cli

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/cronce/cronce/internal/buildinfo"
	"github.com/cronce/cronce/internal/cli/command"
)

// Main runs the command of os.Args until it ends or a signal stops it, and
// calls exit with the exit code. version is the build's, or empty.
func Main(version string, exit func(code int)) {
	// net/http prints through the standard logger what a target sends out of
	// turn, with the target's own bytes. Those could hold a secret that we sent.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), command.StopSignals()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process, unless a command watches for it
	code := Run(ctx, &command.Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Lookup: os.LookupEnv, Now: time.Now, Exit: exit, Version: buildinfo.Version(version),
	}, os.Args[1:])
	stop()
	exit(code)
}
