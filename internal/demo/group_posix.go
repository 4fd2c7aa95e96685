//go:build unix && !linux

package demo

import "syscall"

// ownGroup keeps a Ctrl-C at the terminal from reaching the child, which the
// demo ends itself.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
