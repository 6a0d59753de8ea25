package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	comment = regexp.MustCompile(`(?m)(?:^|\s)(?://|/?\*+|#)\s(.*)$`)
	// `outside` is a reference to a document that a reader of this repository does not have, for example "spec
	// transform §16" or "design §9".
	outside  = regexp.MustCompile(`\b(spec|design|seeds?)( [a-z-]+)? §|\b(transform|history|knowledge|storage-config) §\d|\bspec dcp-and-crucible`)
	document = regexp.MustCompile(`\bdocs/[A-Za-z0-9_/-]+\.md`)
	link     = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	// An anchor has no punctuation.
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func TestCitationsLeadSomewhere(t *testing.T) {
	root := rootOf(t)
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "*.go", "*.ts", "*.mjs", "*.md", "*.yml")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no list of files: %v", err) // the sources of a release come without git
	}
	for _, file := range strings.Fields(string(out)) {
		if strings.Contains(file, "testdata/") || file == "internal/arch/citations_test.go" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Errorf("read %s: %v", file, err)
			continue
		}
		text := prose(file, content)
		for _, hit := range outside.FindAll(text, -1) {
			t.Errorf("%s cites %q, which is outside the repository: state the reason instead", file, hit)
		}
		for _, cited := range document.FindAll(text, -1) {
			wantFile(t, file, filepath.Join(root, string(cited)))
		}
		if strings.HasSuffix(file, ".md") {
			for _, m := range link.FindAllSubmatch(content, -1) {
				target := filepath.Join(root, file)
				if len(m[1]) > 0 {
					target = filepath.Join(root, filepath.Dir(file), string(m[1]))
				}
				wantFile(t, file, target)
				if anchor := string(m[2]); anchor != "" && !slices.Contains(anchors(target), anchor) {
					t.Errorf("%s cites #%s of %s, which has no such heading", file, anchor, target)
				}
			}
		}
	}
}

func prose(file string, content []byte) []byte {
	if strings.HasSuffix(file, ".md") {
		return bytes.ReplaceAll(content, []byte("\n"), []byte(" "))
	}
	var b bytes.Buffer
	for _, m := range comment.FindAllSubmatch(content, -1) {
		b.Write(append(m[1], ' '))
	}
	return b.Bytes()
}

func anchors(path string) []string {
	content, _ := os.ReadFile(path) // wantFile reports a missing file
	var all []string
	for _, m := range heading.FindAllSubmatch(content, -1) {
		all = append(all, strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(string(m[1])), ""), " ", "-"))
	}
	return all
}

func wantFile(t *testing.T, from, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s cites a file that does not exist: %v", from, err)
	}
}

func rootOf(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return string(bytes.TrimSpace(out))
}
