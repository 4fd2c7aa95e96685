// Command cronce calls the targets of a registry on schedule, each run under its run
// ID as the idempotency key, and shows the outcomes.
package main

import (
	"os"

	"github.com/cronce/cronce/internal/cli"
)

// version is set by the build (-ldflags "-X main.version=..."); a plain build
// shows what the Go tool knows.
var version string

func main() { cli.Main(version, os.Exit) }
