// Package buildinfo says which version of cronce a binary is.
package buildinfo

import "runtime/debug"

// Version is the version that the build stamped, else what the Go tool knows of
// the main module, else "dev". It can stand in a User-Agent field.
func Version(stamped string) string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
