package taskfile

import (
	"os/exec"
	"strings"
	"testing"
)

// `task` without a name must list the tasks, even if task itself is not on the PATH.
func TestBareTaskListsTheTasks(t *testing.T) {
	goProgram, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	if path, err := exec.LookPath("task"); err == nil {
		t.Skipf("%s would hide the mistake", path)
	}
	cmd := exec.CommandContext(t.Context(), goProgram, "tool", "-modfile=tools/go.mod", "task")
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"test:", "package:", "release:"} {
		if !strings.Contains(string(out), "* "+name) {
			t.Errorf("%s is not listed:\n%s", name, out)
		}
	}
}
