package doctor

import (
	"context"
	"os"
	"path/filepath"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/rpc"
)

// Below tooLittleSpace, a host may be unable to store anything: SQLite's write-ahead log grows by some megabytes
// before a checkpoint. Below littleSpace, a migration may fail, because it first copies the database.
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
	x.traces()
}

// traces reports the recorded traces, because the user may have forgotten that recording is on. It warns of a trace
// near its size limit, because such a trace will lack the end of its session.
func (x *examination) traces() {
	dir := filepath.Join(x.DataDir, "traces")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there are no traces
	}
	var bytes int64
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
			if x.Now().Sub(info.ModTime()) < oldLog && info.Size() > rpc.MaxRecordedBytes*9/10 {
				x.warn("switch traces off with "+x.command("trace off")+", or start the harness again for a new one",
					"the trace %s has %s, and a trace ends at %s", entry.Name(), format.Bytes(info.Size()), format.Bytes(rpc.MaxRecordedBytes))
			}
		}
	}
	if len(entries) > 0 {
		x.ok("%s in %s, %s in all; if they take more than %s, the oldest are deleted", format.Count(len(entries), "trace"), dir,
			format.Bytes(bytes), format.Bytes(rpc.MaxTracesBytes))
	}
}

func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
