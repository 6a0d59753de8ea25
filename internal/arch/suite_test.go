package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// In some packages, `task test` runs most tests only with -short and the race detector. If a test does less with
// -short, the list LONG in Taskfile.yml must name it. `task test` then also runs the test without -short.
func TestShortenedTestsRunInFull(t *testing.T) {
	root := filepath.Join("..", "..")
	taskfile, err := os.ReadFile(filepath.Join(root, "Taskfile.yml"))
	if err != nil {
		t.Fatal(err)
	}
	racy := regexp.MustCompile(`(?m)^ +RACY: ([^#\n]+)`).FindStringSubmatch(string(taskfile))
	long := regexp.MustCompile(`(?m)^ +LONG: >-\n +(\S+)`).FindStringSubmatch(string(taskfile))
	if racy == nil || long == nil {
		t.Fatal("Taskfile.yml has no RACY or no LONG")
	}
	var shortened []string
	for _, dir := range strings.Fields(racy[1]) {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s has no tests: %v", dir, err)
		}
		for _, path := range paths {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
					continue
				}
				body := string(source[f.Pos()-1 : f.End()-1])
				if strings.Contains(body, "testing.Short()") || strings.Contains(body, "rapid.Check(") { // rapid checks less with -short
					shortened = append(shortened, f.Name.Name)
				}
			}
		}
	}
	listed := strings.Split(long[1], "|")
	for _, name := range shortened {
		if !slices.Contains(listed, name) {
			t.Errorf("%s does less with -short, so add it to LONG in Taskfile.yml", name)
		}
	}
}
