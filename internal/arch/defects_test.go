package arch

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// bugID is an id such as A18.
	bugID = regexp.MustCompile(`[A-Z]\d+`)
	// bugTest is a Go test that has an id in its name.
	bugTest = regexp.MustCompile(`(?m)^func (Test(?:Bug|Defect)([A-Z]\d+)\w+)\(t \*testing\.T\)`)
	// bugCited is a comment that cites an id, for example "bug class A29 in docs/defects.md" or "// A10: …".
	bugCited = regexp.MustCompile(`\b(?:class|[Dd]efect) ([A-Z]\d+)\b|(?m:^\s*// )([A-Z]\d+)(?::| \(and )|\b([A-Z]\d+)(?: in|\)? \()\s*(?://\s*)?docs/defects\.md`)
	// bugTests is one item of a line's tests: a Go test, the title of a test of a shim, or the directory of those before it.
	bugTests = regexp.MustCompile("`(Test\\w+)`|\"([^\"]+)\"|\\(`([\\w/.-]+)`\\)")
)

// In docs/defects.md each class of bugs has a test that exists, or a reason why it has none. Each id that a comment
// or a test cites belongs to a class, and each test with an id in its name is listed.
func TestBugIndex(t *testing.T) {
	root := rootOf(t)
	content, err := os.ReadFile(filepath.Join(root, "docs/defects.md"))
	if err != nil {
		t.Fatal(err)
	}
	ids, listed := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(line, "|")
		if len(cells) == 1 || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| the bug") {
			continue
		}
		if len(cells) != 5 {
			t.Errorf("want a bug, its ids and its tests: %s", line)
			continue
		}
		for _, id := range bugID.FindAllString(cells[2], -1) {
			ids[id] = true
		}
		var names []string
		tests := 0
		for _, m := range bugTests.FindAllStringSubmatch(cells[3], -1) {
			if m[3] == "" {
				names = append(names, m[1]+m[2])
				tests++
				continue
			}
			sources := testsOf(t, root, m[3])
			for _, name := range names {
				listed[path.Join(m[3], name)] = true
				if !strings.Contains(sources, "func "+name+"(") && !strings.Contains(sources, `"`+name) {
					t.Errorf("no test %q in %s", name, m[3])
				}
			}
			names = nil
		}
		if len(names) > 0 {
			t.Errorf("these tests have no directory: %q", names)
		}
		if tests == 0 && !strings.HasPrefix(cells[3], " None: ") {
			t.Errorf("no test, and no reason: %s", line)
		}
	}

	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "*.go")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no list of files: %v", err) // an archive of the sources has no git
	}
	for _, file := range strings.Fields(string(out)) {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Errorf("read %s: %v", file, err)
			continue
		}
		for _, m := range bugTest.FindAllStringSubmatch(string(content), -1) {
			if !listed[path.Join(path.Dir(file), m[1])] {
				t.Errorf("docs/defects.md does not name %s of %s", m[1], file)
			}
			if !ids[m[2]] {
				t.Errorf("%s of %s has the id %s, which is not in docs/defects.md", m[1], file, m[2])
			}
		}
		for _, m := range bugCited.FindAllStringSubmatch(string(content), -1) {
			if id := m[1] + m[2] + m[3]; !ids[id] {
				t.Errorf("%s cites %s, which is not in docs/defects.md", file, id)
			}
		}
	}
}

// testsOf returns the sources of the tests in a directory.
func testsOf(t *testing.T, root, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"*_test.go", "*.test.ts"} {
		files, err := filepath.Glob(filepath.Join(root, dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(content)
		}
	}
	return all.String()
}
