//go:build unix

package program

import (
	"os/exec"
	"testing"
)

// Users paste the commands that the program prints, and a stranger's repository chooses the names of its directories.
// So a name such as "$(touch x)" must not run as a command.
func TestShellExpandsNothingInAQuotedPath(t *testing.T) {
	for _, path := range []string{"/p/a b", "/p/$(touch x)", "/p/`id`", "/p/a;b<c", "/p/it's", `/p/"\`, "/p/*?[a]", "~/a", "/p/ä", "/p/a\nb", "/p/#a", "/p/a!b", "-n"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s -- "+Quote(path)).Output()
		if got := string(out); err != nil || got != "--"+path {
			t.Errorf("%q becomes %q: %v", path, got, err)
		}
	}
}
