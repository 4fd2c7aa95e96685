// Command cronce runs a registry's scheduled admin calls, each under a run ID
// that is the target's idempotency key, and shows what became of them.
package main

import (
	"os"

	"github.com/cronce/cronce/internal/cli"
)

// version is set by the build (-ldflags "-X main.version=..."); a plain build
// shows what the Go tool knows.
var version string

func main() { cli.Main(version, os.Exit) }
