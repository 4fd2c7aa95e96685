package keys

import "os"

// keepAccess leaves a file with the rights that its folder gives.
func keepAccess(*os.File, os.FileInfo) error { return nil }
