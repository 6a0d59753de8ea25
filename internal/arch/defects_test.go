package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// bugID matches an id such as A18. It also matches an id of an older list, such as "peers A1"; tests are not named
	// after these.
	bugID   = regexp.MustCompile(`(project |peers )?[A-Z]\d+`)
	bugTest = regexp.MustCompile(`(?m)^func (Test(?:Bug|Defect)([A-Z]\d+)\w+)\(t \*testing\.T\)`)
	// bugCited is a comment that cites an id, for example "bug class A29 in docs/defects.md" or "// A10: …".
	bugCited = regexp.MustCompile(`\b(?:class|[Dd]efect) ([A-Z]\d+)\b|(?m:^\s*// )([A-Z]\d+)(?::| \(and )|\b([A-Z]\d+)(?: in|\)? \()\s*(?://\s*)?docs/defects\.md`)
	// bugLine matches the line about a class of bugs. Its first group contains the ids, and the second one the tests.
	bugLine   = regexp.MustCompile(`^- .*? \[([^\]]+)\](.*)`)
	bugListed = regexp.MustCompile("`(Test\\w+)`|\"([^\"]+)\"")
)

// In docs/defects.md, each class of bugs has an existing test, or a reason why it has no test. Each id in a comment
// or a test's name belongs to a class.
func TestBugIndex(t *testing.T) {
	root := rootOf(t)
	page, err := os.ReadFile(filepath.Join(root, "docs/defects.md"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "*.go", "*.test.ts")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no list of files: %v", err) // the sources of a release come without git
	}
	var tests strings.Builder
	cited, tested := map[string]string{}, map[string]bool{} // by id: the file that cites the id, and whether a test has the id in its name
	for _, file := range strings.Fields(string(out)) {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Errorf("read %s: %v", file, err)
			continue
		}
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".test.ts") {
			tests.Write(content)
		}
		for _, m := range bugTest.FindAllStringSubmatch(string(content), -1) {
			cited[m[2]], tested[m[2]] = m[1]+" of "+file, true
		}
		for _, m := range bugCited.FindAllStringSubmatch(string(content), -1) {
			cited[m[1]+m[2]+m[3]] = file
		}
	}

	sources := tests.String()
	ids := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		m := bugLine.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "- ") {
				t.Errorf("want a bug, its ids and its tests: %s", line)
			}
			continue
		}
		isTested := strings.HasPrefix(m[2], " None: ")
		for _, id := range bugID.FindAllString(m[1], -1) {
			ids[id[strings.Index(id, " ")+1:]] = true
			isTested = isTested || tested[id]
		}
		for _, test := range bugListed.FindAllStringSubmatch(m[2], -1) {
			isTested = true
			if name := test[1] + test[2]; !strings.Contains(sources, "func "+name+"(") && !strings.Contains(sources, `"`+name) {
				t.Errorf("no test %q", name)
			}
		}
		if !isTested {
			t.Errorf("no test, and no reason: %s", line)
		}
	}
	for id, by := range cited {
		if !ids[id] {
			t.Errorf("%s has the id %s, which is not in docs/defects.md", by, id)
		}
	}
}
