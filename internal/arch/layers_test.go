package arch

import (
	"cmp"
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of packages into ARCHITECTURE.md")

var (
	mayImport   = regexp.MustCompile(`(?s)\n\nIt may import ([^.]+)\.\n$`)
	packagePath = regexp.MustCompile(`[a-z0-9]+(?:[/-][a-z0-9]+)*`)
	// equipment matches packages that only tests and generators use. ARCHITECTURE.md does not list them.
	equipment = regexp.MustCompile(`^e2e|^internal/arch$|/gen$|test$`)
)

func said(t *testing.T, p pkg) string {
	t.Helper()
	path := filepath.Join(p.Dir, "doc.go")
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	text := f.Doc.Text()
	if !mayImport.MatchString(text) {
		t.Fatalf(`%s does not end with a paragraph like "It may import schema and internal/json.", which names packages of this module, or "nothing of this module"`, path)
	}
	return text
}

func imports(t *testing.T, all []pkg) map[string][]string {
	t.Helper()
	allowed := map[string][]string{}
	for _, p := range all {
		list := mayImport.FindStringSubmatch(said(t, p))[1]
		switch {
		case strings.HasPrefix(list, "nothing of this module"):
		case strings.HasPrefix(list, "every package of this module"):
			allowed[p.ImportPath] = []string{module}
		default:
			list = strings.Replace(list, "its sub-packages", strings.TrimPrefix(p.ImportPath, module+"/"), 1)
			for _, path := range packagePath.FindAllString(list, -1) {
				if path != "and" {
					allowed[p.ImportPath] = append(allowed[p.ImportPath], local(path))
				}
			}
		}
	}
	return allowed
}

func TestEachAllowedImportIsUsed(t *testing.T) {
	all := list(t)
	allowed := imports(t, all)
	for _, p := range all {
		for _, a := range allowed[p.ImportPath] {
			if len(p.GoFiles) > 1 && a != module && !slices.ContainsFunc(p.Imports, func(i string) bool { return within(i, a) }) {
				t.Errorf("the doc.go of %s allows %s, which it does not import: take it away", p.ImportPath, a)
			}
		}
	}
}

// After a change of a doc.go, this command writes the table in ARCHITECTURE.md again:
//
//	go test ./internal/arch -run Table -args -update
func TestTableOfPackagesIsFresh(t *testing.T) {
	all := list(t)
	byPath := map[string]pkg{}
	for _, p := range all {
		byPath[p.ImportPath] = p
	}
	levels := map[string]int{}
	var level func(path string) int
	level = func(path string) int {
		if _, isKnown := levels[path]; !isKnown {
			for _, i := range byPath[path].Imports {
				if within(i, module) {
					levels[path] = max(levels[path], level(i)+1)
				}
			}
		}
		return levels[path]
	}
	all = slices.DeleteFunc(all, func(p pkg) bool { return equipment.MatchString(strings.TrimPrefix(p.ImportPath, module+"/")) })
	slices.SortFunc(all, func(a, b pkg) int {
		return cmp.Or(level(a.ImportPath)-level(b.ImportPath), strings.Compare(a.ImportPath, b.ImportPath))
	})
	var table strings.Builder
	for _, p := range all {
		text := said(t, p)
		subject := strings.SplitN(new(doc.Package).Synopsis(text), " ", 3)[2] // without "Package x"
		subject, _, _ = strings.Cut(strings.TrimSuffix(subject, "."), ": ")
		fmt.Fprintf(&table, "- `%s` %s\n", strings.TrimPrefix(p.ImportPath, module+"/"), subject)
	}

	file := filepath.Join(rootOf(t), "ARCHITECTURE.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- packages, made from the doc.go files by go test ./internal/arch -run Table -args -update -->\n", "<!-- end of packages -->"
	before, rest, isMarked := strings.Cut(string(page), begin)
	old, after, isClosed := strings.Cut(rest, end)
	switch {
	case !isMarked || !isClosed:
		t.Fatalf("%s has no place between %q and %q", file, begin, end)
	case old != table.String() && *update:
		err = os.WriteFile(file, []byte(before+begin+table.String()+end+after), 0o644)
	case old != table.String():
		t.Errorf("the table of packages in ARCHITECTURE.md is stale: run `go test ./internal/arch -run Table -args -update`")
	}
	if err != nil {
		t.Fatal(err)
	}
}
