package demo

import "syscall"

// ownGroup keeps a Ctrl-C at the terminal from reaching the child, which the
// demo ends itself, and ends the child when the demo is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
