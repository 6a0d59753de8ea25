//go:build !unix

package regular

import "os"

// On this system a file inherits its owner from the directory.
func keepOwner(*os.File, os.FileInfo) error { return nil }
