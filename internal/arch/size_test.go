package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

// If a package or a type is larger than this, it probably does more than one thing. Only the package pipeline may be
// longer, because all of its code makes one decision.
const (
	mostMethods = 40
	mostLines   = 3500
)

func TestTypesAndPackagesStaySmall(t *testing.T) {
	for _, p := range list(t) {
		lines, methods := 0, map[string]int{}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(source, []byte("\n"))
			file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
					methods[receiver(f.Recv.List[0].Type)]++
				}
			}
		}
		if lines > mostLines && p.ImportPath != module+"/pipeline" {
			t.Errorf("%s has %d lines: divide it (at most %d)", p.ImportPath, lines, mostLines)
		}
		for name, n := range methods {
			if n > mostMethods {
				t.Errorf("%s.%s has %d methods: divide it (at most %d)", p.ImportPath, name, n, mostMethods)
			}
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
