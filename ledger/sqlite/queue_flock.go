//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlite

import (
	"os"
	"syscall"
)

// tryLock takes the lock on an open file, which ends with its process.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // an open file's lock can be given up
}
