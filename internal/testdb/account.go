package testdb

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// An account is whom a server runs as: database servers refuse to run as root.
// The nil account is the process's own.
type account struct{ uid, gid int }

// accountFor is nil unless this process is root; then it is the named account,
// or nobody where that does not exist.
func accountFor(name string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("database servers do not run as root; create the account %s or nobody, or run the tests as another user: %w", name, err)
		}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	return &account{uid, gid}, err
}

// attributes starts a process as the account, in a session of its own.
func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// tempDir makes a directory that belongs to the account. Its path is short:
// a socket's may have 107 characters at the most.
func (a *account) tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "cronce-testdb-")
	if err != nil || a == nil {
		return dir, err
	}
	return dir, os.Chown(dir, a.uid, a.gid)
}
