package doctor

import (
	"context"
	"errors"
	"os"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/store/file"
)

func (x *examination) store(ctx context.Context) {
	found, err := file.Examine(ctx, x.DataDir)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		x.warn("nothing, or run doctor again when the machine is idle", "the database was not checked, that took longer than %v: %s", timeout, found.Path)
		return
	case errors.Is(err, file.ErrForeign):
		x.fail("move that file away, or choose another directory with MAGIC_CONTEXT_DATA_DIR", "%v", err)
		return
	case errors.Is(err, file.ErrBusy):
		x.warn("end the program that holds it (a backup, a database browser), then run doctor again", "the database is locked: %v", err)
		return
	case err != nil:
		x.fail("see that you may read it, and that the disk works", "%v", err)
		return
	case !found.Exists:
		x.ok("no database yet; the first session creates %s", found.Path)
		return
	}
	for _, damage := range found.Damage {
		x.fail("close all sessions: the next host moves the file aside and starts with an empty one. A copy of it may be worth keeping", "the database is damaged: %s", damage)
	}
	for _, planted := range found.Planted {
		x.warn("nothing: the next host removes it. Find out which program wrote it, because it could have changed your sessions", "another program has put a %s into the database", planted)
	}
	switch {
	case len(found.Damage) > 0:
	case 0 < found.Schema && found.Schema < found.OldestSchema:
		x.fail("move that file away, with its -wal and -shm: the next session starts with an empty one", "the database is of schema %d, a build before the first release wrote it: %s", found.Schema, found.Path)
	case found.Schema > found.NewestSchema:
		x.fail("update magicctx-host", "the database is of schema %d, this program knows up to %d", found.Schema, found.NewestSchema)
	default:
		x.ok("the database is sound: %s, %s, schema %d, %s", format.Count(found.Sessions, "session"), format.Bytes(found.Bytes), found.Schema, found.Path)
	}
	x.aside(found.Aside)
}

func (x *examination) aside(files []string) {
	var bytes int64
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			bytes += info.Size()
		}
	}
	if len(files) > 0 {
		x.warn("delete them when you miss nothing", "%s, moved aside, %s in %s", format.Count(len(files), "damaged database"), format.Bytes(bytes), x.DataDir)
	}
}
