package config

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// TestKeysWithoutEffectAreMarked reads the program's sources: a key has the tag effect:"none" if and only if
// nothing outside of the packages that load the configuration reads its field. install leaves a key with the
// tag out of the settings that it creates, and a user who sets such a key gets a warning.
func TestKeysWithoutEffectAreMarked(t *testing.T) {
	read := fieldsThatAreRead(t, "../..")
	for _, f := range reflect.VisibleFields(reflect.TypeFor[schema.Config]()) {
		switch f.Name {
		case "Schema", "TrustedProjects": // for editors, and for this package
			continue
		}
		isMarked := f.Tag.Get("effect") == "none"
		if isMarked == read[f.Name] {
			t.Errorf("%s: a package reads it is %t, and its tag says that it has no effect is %t", f.Name, read[f.Name], isMarked)
		}
	}
}

// configNames are the names that the sources give to a schema.Config.
var configNames = map[string]bool{"cfg": true, "c": true, "config": true, "settings": true, "Config": true, "userConfig": true}

// fieldsThatAreRead returns the names x of all selectors c.x in which c is a name of a configuration.
func fieldsThatAreRead(t *testing.T, root string) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	for _, dir := range []string{"cmd", "internal/host", "internal/doctor", "internal/replay", "pipeline", "store", "rpc"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			tree, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && isConfig(s.X) {
					read[s.Sel.Name] = true
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return read
}

func isConfig(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return configNames[e.Name]
	case *ast.SelectorExpr:
		return configNames[e.Sel.Name] || e.Sel.Name == "config"
	}
	return false
}
