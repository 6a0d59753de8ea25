package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// PathIn returns the path of the database in a data directory.
func PathIn(dir string) string { return filepath.Join(dir, fileName) }

// SizeOnDisk returns the size in bytes of the database at path, including its write-ahead log.
func SizeOnDisk(path string) (bytes int64, err error) {
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("size of the database: %w", err)
		}
		bytes += info.Size()
	}
	return bytes, nil
}
