package sqlite

import "syscall"

// mountedFS knows the common network file systems by the magic numbers of
// statfs(2).
func mountedFS(dir string) string {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return ""
	}
	switch uint32(s.Type) {
	case 0x6969:
		return "NFS"
	case 0x517B, 0xFF534D42, 0xFE534D42:
		return "SMB"
	case 0x00C36400:
		return "Ceph"
	}
	return ""
}
