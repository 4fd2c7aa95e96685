//go:build !linux

package postgres

import "syscall"

// setUserTimeout leaves the bound on unacknowledged data to the operating system.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
