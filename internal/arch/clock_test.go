package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// A pass receives the time as a value, so that a replay of the pass makes the same decisions.
func TestPipelineReadsNoClock(t *testing.T) {
	clocks := []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Sleep"}
	files := 0
	for _, p := range list(t) {
		if !within(p.ImportPath, local("pipeline")) {
			continue
		}
		for _, name := range p.GoFiles {
			files++
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, s.Sel.Name) {
					t.Errorf("%s: time.%s in the pass", set.Position(n.Pos()), s.Sel.Name)
				}
				return true
			})
		}
	}
	if files < 10 {
		t.Errorf("only %d files of the pipeline were read", files)
	}
}
