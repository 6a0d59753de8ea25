package doctor

import (
	"context"
	"fmt"
	"slices"

	"github.com/magicctx/magicctx-host/schema"
)

// compaction checks that something keeps the sessions below the model's limit: either the harness's own compaction or
// magicctx, but not both.
func (x *examination) compaction(ctx context.Context) {
	x.eachUsed(ctx, func(h Harness) {
		if h.CompactionOff != nil {
			x.compactionOf(ctx, h)
		}
	})
}

func (x *examination) compactionOf(ctx context.Context, h Harness) {
	file, err := h.CompactionOff(ctx)
	isStopped := stopped(x.before, h.ID)
	switch {
	case err != nil:
		x.fail("correct the file; the harness cannot read it either", "%v", err)
	case file != "" && isStopped && h.HoldsCompactionBack:
		x.warn("switch it on: while magicctx works, it holds it back",
			"nothing keeps sessions below the model's limit: magicctx does not work, and %s's own compaction is off in %s", h.Name, file)
	case file != "" && isStopped:
		x.compactionIsMissing(ctx, h, file)
	case file != "":
		x.ok("%s's own compaction is off, see %s", h.Name, file)
	case isStopped || !h.isListed(ctx): // the harness's own compaction is on, as it has to be
	case h.HoldsCompactionBack:
		x.ok("%s's own compaction is on; magicctx holds it back while it works", h.Name)
	default:
		x.warn(x.reinstall(h), "%s's own compaction is on, and shortens the sessions that magicctx keeps", h.Name)
	}
}

// compactionIsMissing warns that neither magicctx nor the harness's own compaction keeps sessions short. If magicctx
// fails only in this project, the project itself may cause the failure, and a stranger may have written it. So `doctor
// --fix` must not change the user's configuration, which applies to all projects.
func (x *examination) compactionIsMissing(ctx context.Context, h Harness, file string) {
	everywhere, ofUser := x.worksNowhere(ctx, h.ID), x.compactionOffOutside(ctx, h.ID)
	if !everywhere && file == ofUser {
		x.warn("switch it on in the configuration of this project until magicctx works here; the findings above show why it does not",
			"nothing keeps the sessions of this project below the model's limit: magicctx does not work here, and %s's own compaction is off in %s", h.Name, file)
		return
	}
	x.warn(fmt.Sprintf("switch it on until magicctx works again, and run %s then", x.install(h)),
		"nothing keeps sessions below the model's limit: magicctx does not work, and %s's own compaction is off in %s", h.Name, file)
	if h.RestoreCompaction != nil {
		x.fixable(func(ctx context.Context) error { return h.RestoreCompaction(ctx, everywhere) })
		x.findings[len(x.findings)-1].isFallback = true
	}
}

func (x *examination) worksNowhere(ctx context.Context, id schema.Harness) bool {
	isOfProject := func(f Finding) bool {
		return slices.ContainsFunc(ofProject, func(c check) bool { return c.name == f.Check })
	}
	found := slices.DeleteFunc(slices.Clone(x.before), isOfProject)
	outside := x.Options
	outside.Directory, outside.Harnesses = "", x.OutsideProject
	for _, check := range ofProject {
		found = append(found, outside.run(ctx, found, check.name, check.run)...)
	}
	return stopped(found, id)
}

func (x *examination) compactionOffOutside(ctx context.Context, id schema.Harness) string {
	i := slices.IndexFunc(x.OutsideProject, func(h Harness) bool { return h.ID == id })
	if i < 0 || x.OutsideProject[i].CompactionOff == nil {
		return ""
	}
	file, _ := x.OutsideProject[i].CompactionOff(ctx) // a file that cannot be read does not switch it off
	return file
}
