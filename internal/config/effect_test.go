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

// A key of the configuration has no effect if no package reads its field, apart from the packages that load the
// configuration. Exactly these keys must have the tag effect:"none": install leaves tagged keys out of new files, and
// Load warns of them.
func TestKeysWithoutEffectAreMarked(t *testing.T) {
	checkEffects(t, fieldsThatAreRead(t, "../.."), "", reflect.TypeFor[schema.Config]())
}

// checkEffects compares the tags of a struct with the fields that the code reads. If the struct itself has the tag, it
// does not look at its fields.
func checkEffects(t *testing.T, read map[string]bool, prefix string, of reflect.Type) {
	t.Helper()
	for _, f := range fieldsOf(of) {
		name := prefix + of.FieldByIndex(f.index).Name
		switch name {
		case "Schema", "TrustedProjects": // only editors and this package read these keys
			continue
		}
		if f.rules.hasNoEffect == read[name] {
			t.Errorf("%s: is it read? %t; is it tagged as having no effect? %t", name, read[name], f.rules.hasNoEffect)
		}
		if inner := of.FieldByIndex(f.index).Type; inner.Kind() == reflect.Struct && !f.rules.hasNoEffect {
			checkEffects(t, read, name+".", inner)
		}
	}
}

var configNames = map[string]bool{"cfg": true, "c": true, "config": true, "settings": true, "Config": true, "userConfig": true}

// fieldsThatAreRead returns the fields that the code reads, for example "AutoDrop.Duplicates" for
// cfg.AutoDrop.Duplicates. Some functions receive a whole block such as cfg.AutoDrop. fieldsThatAreRead cannot see
// which fields of the block such a function reads. So it counts a field of the block as read if the field's name occurs
// in any selector of the code.
func fieldsThatAreRead(t *testing.T, root string) map[string]bool {
	t.Helper()
	read, selected, whole := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, dir := range []string{"agents", "cmd", "internal", "pipeline", "store", "rpc"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && (entry.Name() == "config" || entry.Name() == "install") {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			tree, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				selected[s.Sel.Name] = true
				if isConfig(s.X) {
					read[s.Sel.Name] = true
					whole[s.Sel.Name]++
				}
				if block, ok := s.X.(*ast.SelectorExpr); ok && isConfig(block.X) {
					read[block.Sel.Name+"."+s.Sel.Name] = true
					whole[block.Sel.Name]--
				} else if ok {
					if outer, ok := block.X.(*ast.SelectorExpr); ok && isConfig(outer.X) {
						read[outer.Sel.Name+"."+block.Sel.Name+"."+s.Sel.Name] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, block := range reflect.VisibleFields(reflect.TypeFor[schema.Config]()) {
		if block.Type.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(block.Type) {
			name, isWhole := block.Name+"."+f.Name, whole[block.Name] > 0
			if len(f.Index) > 1 { // the field belongs to an embedded block, for example to Agent in Historian
				isWhole = isWhole || read[block.Name+"."+block.Type.FieldByIndex(f.Index[:1]).Name]
			}
			if isWhole && f.Tag.Get("effect") != "none" { // the names of fields with this tag are common words, so a selector proves nothing
				read[name] = read[name] || selected[f.Name]
			}
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
