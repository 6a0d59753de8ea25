package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	fence  = regexp.MustCompile("(?s)```.*?```")
	// sourceFile matches the path of a file in this repository, for example `store/pass.go`, or just the name of a
	// source file.
	sourceFile = regexp.MustCompile(`^[\w.*-]+\.(go|ts|mjs|sql)$|^[\w.*-]+(/[\w.*-]+)+\.(go|ts|mjs|sql|md|txtar|json|jsonl|txt|svg|gz)$`)
	identifier = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)*(\(\))?$`)
	// ofCode matches identifiers that cannot be ordinary words, because they contain an underscore or a capital after a
	// small letter.
	ofCode  = regexp.MustCompile(`[a-z0-9][A-Z]|_`)
	goTest  = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*…?$`)
	command = regexp.MustCompile(`\b(task|npm run(?: --silent)?) ([a-z]+(?:[:-][a-z]+)*)`)
	word    = regexp.MustCompile(`\w+`)
)

type sources struct {
	files    []string                   // the tracked files
	words    map[string]bool            // the words of all sources
	declared map[string]map[string]bool // by package: the names that its files declare, including fields and methods
	tests    string                     // the sources of the Go tests
	tasks    map[string]bool
	scripts  map[string]bool
	keys     map[string]bool // for example project_docs.enabled, and project_docs
}

// If a document names a file, function, test, task or configuration key in backticks, it must exist. Only the changelog
// may name things that were removed.
func TestDocumentsNameWhatExists(t *testing.T) {
	root := rootOf(t)
	s := readSources(t, root)
	names := 0
	for _, file := range s.files {
		if path.Ext(file) != ".md" || file == "CHANGELOG.md" || strings.Contains(file, "/prompts/") || strings.Contains(file, "testdata/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.missing(string(content), &names) {
			t.Errorf("%s names %s", file, c)
		}
	}
	taskfile, err := os.ReadFile(filepath.Join(root, "Taskfile.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(taskfile), -1) {
		if !strings.Contains(s.tests, "func "+name) {
			t.Errorf("Taskfile.yml names %s, which is no test", name)
		}
	}
	if names < 500 {
		t.Errorf("only %d names were looked up", names)
	}
}

func TestWrongNamesAreFound(t *testing.T) {
	s := readSources(t, rootOf(t))
	for _, name := range []string{"store/nothere.go", "nothere.go", "store/*_nothere.go", "TestNotHere", "store.CommitNothing", "Session.RenderNothing", "nothing_here()", "task nothere", "npm run nothere", "project_docs.nothere"} {
		if s.missing("`"+name+"`", new(int)) == nil {
			t.Errorf("nobody misses %s", name)
		}
	}
	for _, name := range []string{"store/pass.go", "pass.go", "store/*_test.go", "TestDocumentsNameWhatExists", "TestInvariant1…", "store.CommitPass", "Session.Render", "task test", "npm run generate", "project_docs.enabled", "~/not/ours.json", "opencode.json"} {
		if missing := s.missing("`"+name+"`", new(int)); missing != nil {
			t.Errorf("%s exists: %q", name, missing)
		}
	}
}

// `missing` returns the names in a document that do not exist. It also counts all names in the document, and adds their
// number to *names.
func (s *sources) missing(document string, names *int) []string {
	var found []string
	complain := func(isThere bool, name, kind string) {
		*names++
		if !isThere {
			found = append(found, "`"+name+"`, which is no "+kind)
		}
	}
	for _, m := range command.FindAllStringSubmatch(strings.Join(append(fence.FindAllString(document, -1), quoted.FindAllString(document, -1)...), "\n"), -1) {
		if m[1] == "task" {
			complain(s.tasks[m[2]], m[0], "task")
		} else {
			complain(s.scripts[m[2]], m[0], "script")
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(fence.ReplaceAllString(document, ""), -1) {
		name := m[1]
		first, rest, isDotted := strings.Cut(name, ".")
		switch {
		case strings.Contains(name, "dist/") || strings.Contains(name, "node_modules/"):
		case sourceFile.MatchString(name):
			complain(s.hasFile(name), name, "file")
		case goTest.MatchString(name):
			complain(strings.Contains(s.tests, "func "+strings.TrimSuffix(name, "…")), name, "test")
		case isDotted && s.keys[first] && identifier.MatchString(name) && !ast.IsExported(rest):
			complain(s.keys[name], name, "key")
		case isDotted && s.declared[first] != nil && ast.IsExported(rest) && identifier.MatchString(name):
			complain(!slices.ContainsFunc(word.FindAllString(rest, -1), func(part string) bool { return !s.declared[first][part] }), name, "name of its package")
		case identifier.MatchString(name) && ofCode.MatchString(name):
			complain(!slices.ContainsFunc(word.FindAllString(name, -1), func(part string) bool { return !s.words[part] }), name, "name in the sources")
		}
	}
	return found
}

func (s *sources) hasFile(name string) bool {
	return slices.ContainsFunc(s.files, func(file string) bool {
		tail := strings.Split(file, "/")
		tail = tail[max(0, len(tail)-strings.Count(name, "/")-1):]
		isThere, err := path.Match(name, strings.Join(tail, "/"))
		return err == nil && isThere
	})
}

func readSources(t *testing.T, root string) *sources {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no list of files: %v", err) // the sources of a release come without git
	}
	s := &sources{words: map[string]bool{}, declared: map[string]map[string]bool{}, tasks: map[string]bool{}, scripts: map[string]bool{}, keys: map[string]bool{}}
	var tests strings.Builder
	for _, file := range strings.Fields(string(out)) {
		s.files = append(s.files, file)
		if strings.HasPrefix(file, "internal/bundle/") || !slices.Contains([]string{".go", ".ts", ".mjs", ".sql", ".json", ".yml"}, path.Ext(file)) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue // the file was deleted, but that is not committed yet
		}
		if path.Base(file) != "names_test.go" { // names_test.go itself has wrong names
			for _, w := range word.FindAll(content, -1) {
				s.words[string(w)] = true
			}
		}
		switch {
		case strings.HasSuffix(file, "_test.go"):
			tests.Write(content)
		case path.Ext(file) == ".go":
			s.declare(t, filepath.Join(root, file), content)
		case file == "Taskfile.yml":
			for _, m := range regexp.MustCompile(`(?m)^  ([a-z:]+):`).FindAllStringSubmatch(string(content), -1) {
				s.tasks[m[1]] = true
			}
		case file == "package.json":
			for _, m := range regexp.MustCompile(`"([a-z:]+)":`).FindAllStringSubmatch(string(content), -1) {
				s.scripts[m[1]] = true
			}
		}
	}
	s.tests = tests.String()
	page, err := os.ReadFile(filepath.Join(root, "docs/configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range quoted.FindAllStringSubmatch(string(page), -1) {
		if parent, _, isDotted := strings.Cut(m[1], "."); isDotted && identifier.MatchString(m[1]) && parent != "magicctx" {
			s.keys[parent], s.keys[m[1]] = true, true
		}
	}
	return s
}

func (s *sources) declare(t *testing.T, file string, content []byte) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := s.declared[f.Name.Name]
	if names == nil {
		names = map[string]bool{}
		s.declared[f.Name.Name] = names
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names[n.Name.Name] = true
		case *ast.TypeSpec:
			names[n.Name.Name] = true
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.Field:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		}
		return true
	})
}
