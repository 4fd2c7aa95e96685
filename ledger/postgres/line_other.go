//go:build !linux

package postgres

import "syscall"

// noticeSilence leaves what was sent and not acknowledged to the system's own
// patience.
func noticeSilence(string, string, syscall.RawConn) error { return nil }
