package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/format"
)

// On a terminal, all lines of a finding are aligned, and a path is never broken.
func TestDiagnosisFitsTheTerminal(t *testing.T) {
	path := "/home/user/" + strings.Repeat("long/", 14) + "opencode.json"
	r := NewDiagnosis([]doctor.Finding{{
		Check: "plugin", Level: doctor.Fail, Message: "the plugin in " + path + " finds no host; it looks at the directory beside it, and on the PATH",
		Remedy: "run magicctx-host install opencode, or put magicctx-host on the PATH of the shell",
	}})
	var out bytes.Buffer
	if err := PrintDiagnosis(&out, r, false, 60); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), path) {
		t.Errorf("the path is broken:\n%s", &out)
	}
	findings, _, _ := strings.Cut(out.String(), "\n\n")
	for i, line := range strings.Split(findings, "\n") {
		if format.Columns(line) > 60 && !strings.Contains(line, path) || i > 0 && !strings.HasPrefix(line, strings.Repeat(" ", findingColumns)) {
			t.Errorf("line %d is %q", i, line)
		}
	}
	out.Reset()
	if err := PrintDiagnosis(&out, r, false, 0); err != nil || strings.Count(out.String(), "\n") != 4 {
		t.Errorf("into a file, %v:\n%s", err, &out)
	}
}
