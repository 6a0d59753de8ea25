package store

import "path/filepath"

// PathIn returns the path of the database in a data directory, whether or not
// the file exists.
func PathIn(dir string) string { return filepath.Join(dir, fileName) }
