package arch

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range list(t) {
		entries, err := os.ReadDir(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		hasDoc := false
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) != ".go" {
				continue
			}
			path := filepath.Join(p.Dir, entry.Name())
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case f.Doc == nil:
			case entry.Name() == "doc.go":
				hasDoc = true
			case !strings.HasSuffix(f.Name.Name, "_test") && !strings.HasPrefix(f.Doc.List[0].Text, "//go:"):
				t.Errorf("%s has a package comment: it belongs in doc.go", path)
			}
		}
		if !hasDoc {
			t.Errorf("%s has no doc.go", p.ImportPath)
		}
	}
}
