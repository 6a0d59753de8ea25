package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/format"
)

// SQLite's write-ahead log may grow by some megabytes before a checkpoint, and a migration first copies
// the database.
const (
	tooLittleSpace = 32 << 20
	littleSpace    = 512 << 20
)

func (x *examination) disk(context.Context) {
	dir := existing(x.DataDir)
	free, err := x.FreeBytes(dir)
	if err != nil {
		x.warn("see that the disk works", "the free space of %s is unknown: %v", dir, err)
		return
	}
	var database int64
	if info, err := os.Stat(filepath.Join(x.DataDir, "magicctx.db")); err == nil {
		database = info.Size()
	}
	switch enough := uint64(max(littleSpace, 2*database)); {
	case free < tooLittleSpace:
		x.fail("free some space: without it nothing can be stored and prompts go out unchanged", "%s are left for %s", format.Bytes(int64(free)), x.DataDir)
	case free < enough:
		x.warn("free some space before the next update, which copies the database", "%s are left for %s", format.Bytes(int64(free)), x.DataDir)
	default:
		x.ok("%s are left for %s", format.Bytes(int64(min(free, 1<<62))), x.DataDir)
	}
}

// existing returns path or the closest directory above it that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// quote quotes a path for a shell, if it needs that.
func quote(path string) string {
	for _, r := range path {
		if r == ' ' || r == '\'' || r == '"' || r == '$' || r == '\\' || r == '*' {
			return strconv.Quote(path)
		}
	}
	return path
}
