package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const environmentPage = "docs/environment.md"

var (
	ours   = regexp.MustCompile(`\b(?:MAGICCTX|MAGIC_CONTEXT|XDG|OPENCODE)_[A-Z_]+\b`)
	listed = regexp.MustCompile("(?m)^- (`[A-Z_]+`(?:, `[A-Z_]+`)*)")
)

func TestEnvironmentVariablesAreListed(t *testing.T) {
	root := rootOf(t)
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "*.go", "*.ts", "*.mjs")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no list of files: %v", err)
	}
	var product, everything strings.Builder
	for _, file := range strings.Fields(string(out)) {
		if strings.Contains(file, "internal/arch/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		everything.Write(content)
		if !strings.Contains(file, "test") && !strings.HasPrefix(file, "e2e/") && !strings.Contains(file, "/bench/") {
			product.Write(content)
		}
	}
	page, err := os.ReadFile(filepath.Join(root, environmentPage))
	if err != nil {
		t.Fatalf("read the list: %v", err)
	}
	named := map[string]bool{}
	for _, m := range listed.FindAllStringSubmatch(string(page), -1) {
		for _, cell := range strings.Split(m[1], ", ") {
			name := strings.Trim(cell, "`")
			named[name] = true
			if !strings.Contains(everything.String(), name) {
				t.Errorf("%s names %s, which nothing reads", environmentPage, name)
			}
		}
	}
	for _, name := range ours.FindAllString(product.String(), -1) {
		if !named[name] {
			t.Errorf("%s does not name %s, which the product reads", environmentPage, name)
			named[name] = true // one occurrence is enough
		}
	}
}
