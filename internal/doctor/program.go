package doctor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/file"
)

func (x *examination) program(ctx context.Context) {
	x.ok("magicctx-host %s (%s/%s, protocol %d.%d), %s", x.Version, runtime.GOOS, runtime.GOARCH,
		schema.ProtocolMajor, schema.ProtocolMinor, x.Executable)
	first, err := x.LookPath("magicctx-host")
	if err == nil && !program.IsSameFile(first, x.Executable) {
		x.warn("remove one of the two, or know that your shell and the plugin may start different ones",
			"another magicctx-host comes first on the PATH: %s", first)
	}
	x.named(ctx)
}

func (x *examination) host(ctx context.Context) {
	dir, _ := x.runtimeDir()
	if dir == "" {
		x.fail("see the findings about permissions", "there is no directory for the host's socket, so none can start")
		return
	}
	st, at, err := x.anyHost(ctx, dir)
	var refused *rpc.Error
	switch {
	case errors.Is(err, daemon.ErrNoHost):
		x.ok("no host is running; the next session starts one, with its socket in %s", dir)
		return
	case errors.Is(err, daemon.ErrForeign):
		x.fail("end that process, or have the administrator end it", "%v", err)
		return
	case errors.As(err, &refused) && refused.Code == schema.CodeVersion:
		x.fail("end the running host (close all sessions, or end its process) and start again", "the running host speaks another protocol: %s", refused.Message)
		return
	case err != nil:
		remedy := "end its process"
		if pid := file.LastOwner(x.DataDir); pid > 0 {
			remedy = fmt.Sprintf("end its process, most likely %d", pid)
		}
		x.fail(remedy+"; the next session starts a new host", "the running host does not answer: %v", err)
		return
	}
	if problem, remedy := OtherProgram(st, x.Version, x.ProgramHash); problem != "" {
		x.warn(remedy, "%s", problem)
	} else {
		x.ok("the host runs (process %d), %s, %s listed, its socket in %s", st.PID,
			format.Count(st.HarnessClients(), "client"), format.Count(len(st.Sessions), "session"), at)
	}
	for _, w := range st.Warnings {
		switch {
		case w.Source == "recovery": // a repair of the store has cost some data
			x.warn("nothing: it is told until the host ends", "%s", w.Message)
		case w.Source == "store":
			x.fail("see the findings about store, permissions and disk; when they are gone the host works again by itself", "%s", w.Message)
		case w.Source == "bug":
			x.warn("report it, with the log in "+x.DataDir, "%s", w.Message)
		case w.Source == "markers":
			x.warn("switch compaction_markers off, or report it; the host works without markers", "%s", w.Message)
		}
	}
	for _, ses := range st.Sessions {
		if x.Now().Sub(time.UnixMilli(ses.LastPassAt)) > inUse {
			continue
		}
		// Without summaries, magicctx works only in part.
		if faults := words.Faults(ses, x.Now()); len(faults) > 0 {
			x.warn(fmt.Sprintf("see %s status %s", program.Name(), ses.Session), "session %s: %s", ses.Session, strings.Join(faults, "; "))
		}
	}
	if !st.Enabled && len(st.Warnings) == 0 {
		x.fail("see the findings below", "the host is disabled: %s", st.Reason)
	}
}

// Doctor reports a session's faults only if the session was used within inUse. An older session no longer matters.
const inUse = 24 * time.Hour

// anyHost asks the running host of this data directory for its status. It also returns the directory of the host's
// socket. It tries all directories in which a host may have its socket, as a harness does before it starts a host.
func (x *examination) anyHost(ctx context.Context, preferred string) (st schema.StatusResult, dir string, err error) {
	var failed error
	for _, dir := range slices.Concat(x.RuntimeDirs, x.OtherDirs) {
		st, err := x.AskHost(ctx, dir)
		if err == nil {
			return st, dir, nil
		}
		if failed == nil || errors.Is(failed, daemon.ErrNoHost) {
			failed = err
		}
	}
	return st, preferred, failed
}

// If the running host has another version or hash than this program, for example after an update, OtherProgram
// returns the problem and its remedy. If hash is empty, only the versions are compared.
func OtherProgram(st schema.StatusResult, version, hash string) (problem, remedy string) {
	remedy = fmt.Sprintf("end process %d; the next session starts a new host", st.PID)
	switch {
	case st.Version != version:
		return fmt.Sprintf("the running host is version %s, this program is %s", st.Version, version),
			"start OpenCode or Pi: a newer release replaces an older host; if this warning stays, " + remedy
	case hash != "" && st.ProgramHash != hash:
		return fmt.Sprintf("the running host (process %d) is another build of version %s than this program: it may have gone on after an update", st.PID, version), remedy
	}
	return "", ""
}

// compareMinor compares the major and minor numbers of two versions. `order` is below 0 if `a` is older, and above 0 if
// `a` is newer. `known` is false if `a` or `b` is not a version.
func compareMinor(a, b string) (order int, known bool) {
	var a1, a2, b1, b2 int
	if _, err := fmt.Sscanf(a, "%d.%d", &a1, &a2); err != nil {
		return 0, false
	}
	if _, err := fmt.Sscanf(b, "%d.%d", &b1, &b2); err != nil {
		return 0, false
	}
	if a1 != b1 {
		return a1 - b1, true
	}
	return a2 - b2, true
}
