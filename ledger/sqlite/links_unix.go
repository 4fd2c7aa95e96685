//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"
)

// hardLinks returns the number of names that a file has.
func hardLinks(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Nlink)
	}
	return 1
}
