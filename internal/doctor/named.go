package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/program"
)

// NamedBy is an environment variable with the path of a program. If it is set, the plugins start only this program as
// the host.
const NamedBy = "MAGICCTX_HOST"

// namedTimeout is more than enough: our binary prints its version within milliseconds, and our launcher within a few
// hundred milliseconds.
const namedTimeout = 3 * time.Second

// errNoProgram means that the path does not lead to an executable file. The plugins describe this problem in the same
// words.
var errNoProgram = errors.New("which is not an executable file")

// Named examines the program whose path is in the variable NamedBy. It returns the program's problem as a sentence, or
// "". isBroken means that no plugin can work with the program. It is also a problem if the program's version differs
// from the version of this doctor (`own`), but then isBroken is false.
func Named(ctx context.Context, env func(string) string, own string, versionOf func(context.Context, string) (string, error)) (problem string, isBroken bool) {
	path := env(NamedBy)
	if path == "" {
		return "", false
	}
	version, err := versionOfNamed(ctx, path, versionOf)
	switch {
	case err != nil:
		return fmt.Sprintf("%s names %s, %v", NamedBy, path, err), true
	case version != own:
		return fmt.Sprintf("%s names %s, which is version %s; this program is %s", NamedBy, path, version, own), false
	}
	return "", false
}

// The error continues a sentence that names the program.
func versionOfNamed(ctx context.Context, path string, versionOf func(context.Context, string) (string, error)) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", errNoProgram
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", errNoProgram
	}
	limited, cancel := context.WithTimeout(ctx, namedTimeout)
	defer cancel()
	out, err := versionOf(limited, path)
	switch words := strings.Fields(out); {
	case limited.Err() != nil:
		return "", fmt.Errorf("which does not answer: it has not said its version within %v", namedTimeout)
	case err != nil:
		return "", fmt.Errorf("which cannot say its version: %w", err)
	case len(words) != 1:
		return "", fmt.Errorf("which prints no version when asked for it: %.60q", out)
	default:
		return words[0], nil
	}
}

func (x *examination) named(ctx context.Context) {
	if program.IsSameFile(x.Env(NamedBy), x.Executable) {
		return
	}
	switch problem, isBroken := Named(ctx, x.Env, x.Version, x.VersionOf); {
	case isBroken:
		x.fail("name one that works, or unset "+NamedBy+": a plugin that finds it set starts no other", "%s", problem)
	case problem != "":
		x.warn("use one version for both: a plugin refuses a host that is too old or too new for it", "%s", problem)
	}
}
