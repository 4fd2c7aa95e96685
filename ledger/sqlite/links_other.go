//go:build !unix

package sqlite

import "io/fs"

// hardLinks cannot tell here.
func hardLinks(fs.FileInfo) int { return 1 }
