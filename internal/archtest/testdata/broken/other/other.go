//go:build plan9

// Package other ends the process on a platform that the test does not run on.
package other

import "os"

func Stop() { os.Exit(1) }
