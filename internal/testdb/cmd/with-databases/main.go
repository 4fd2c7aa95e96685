// Command with-databases runs a command while one PostgreSQL and one MariaDB
// server stand ready for its tests, so that the test binaries of many packages
// share them:
//
//	with-databases [-durable] go test ./...
//
// It exits as the command does. The servers are gone afterwards, even when it
// is killed. They run without fsync unless -durable is given, as benchmarks
// want it. With SHORT=1 none are started.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/cronce/cronce/internal/testdb"
)

func main() {
	durable := flag.Bool("durable", false, "servers that survive a crash")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: with-databases [-durable] COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := run(flag.Args(), testdb.Durability(*durable))
	if err != nil {
		fmt.Fprintln(os.Stderr, "with-databases:", err)
	}
	os.Exit(code)
}

func run(command []string, d testdb.Durability) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if testdb.Short() {
		fmt.Fprintln(os.Stderr, "SHORT=1: PostgreSQL and MariaDB are NOT TESTED in this run")
	} else {
		servers, err := testdb.Share(d)
		if err != nil {
			return 1, err
		}
		defer servers.Close()
		cmd.Env = servers.Environ()
	}
	return wait(cmd)
}

// wait runs the command to its end. An interrupt at the terminal reaches the
// command by itself; a termination is passed on.
func wait(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			if sig == syscall.SIGTERM {
				_ = cmd.Process.Signal(sig) // fails only when it has ended
			}
		case err := <-ended:
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				return max(exit.ExitCode(), 1), nil
			}
			if err != nil {
				return 1, err
			}
			return 0, nil
		}
	}
}
