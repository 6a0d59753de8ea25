package doctor

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc/daemon"
)

const (
	// A log that is older than oldLog explains no problem of today's sessions, so doctor suggests removing it.
	oldLog = 30 * 24 * time.Hour
	// The host itself keeps 10 to 20 MB of logs, so doctor warns if there are more than manyLogBytes.
	manyLogBytes = 64 << 20
)

func (x *examination) leftovers(ctx context.Context) {
	before := len(x.findings)
	for _, dir := range slices.Concat(x.RuntimeDirs, x.OtherDirs) {
		x.sockets(ctx, dir)
	}
	x.logs()
	if len(x.findings) == before {
		x.ok("dead hosts left nothing behind")
	}
}

func (x *examination) sockets(ctx context.Context, dir string) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return // the checks of permissions report this error
	}
	found, err := daemon.Leftovers(ctx, dir)
	if err != nil {
		x.warn("see that you may read it", "%v", err)
	}
	for _, path := range found {
		x.warn("remove it: rm "+program.Quote(path), "nobody listens at %s: its host was killed", path)
		x.fixable(func(ctx context.Context) error { return daemon.RemoveLeftover(ctx, path) })
	}
}

func (x *examination) logs() {
	files, _ := fs.Glob(os.DirFS(x.DataDir), "logs/host.log*") // the only possible error is a bad pattern
	var bytes int64
	for _, name := range files {
		file := filepath.Join(x.DataDir, name)
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		bytes += info.Size()
		if age := x.Now().Sub(info.ModTime()); age > oldLog && filepath.Base(file) != "host.log" {
			x.warn("remove it: rm "+program.Quote(file), "%s is %d days old", file, int(age.Hours()/24))
			x.fixable(func(context.Context) error { return os.Remove(file) })
		}
	}
	if bytes > manyLogBytes {
		x.warn("remove those that you do not need", "the logs take %s in %s", format.Bytes(bytes), filepath.Join(x.DataDir, "logs"))
	}
}
