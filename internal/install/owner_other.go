//go:build !unix

package install

import "os"

// keepOwner does nothing: a file inherits its owner from the directory here.
func keepOwner(*os.File, os.FileInfo) error { return nil }
