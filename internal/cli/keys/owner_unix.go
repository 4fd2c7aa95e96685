//go:build unix

package keys

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// keepAccess gives a file the owner, the group and the mode of the one that it
// replaces.
func keepAccess(f *os.File, former os.FileInfo) error {
	was, ok := former.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.ErrUnsupported
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return fmt.Errorf("the key would have another owner: %w; rotate as its owner or as root", err)
	}
	return f.Chmod(former.Mode().Perm()) // after the owner, which clears bits of the mode
}
