package main

import (
	"go/ast"
	"go/constant"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// A source holds the comments and constants of package schema, which reflection
// cannot see.
type source struct {
	comments map[string]string // keyed by "Type" and "Type.Field"
	consts   []constDecl       // in source order
}

// A constDecl is an exported constant. typeName is the name of its type, or
// empty if it is untyped.
type constDecl struct {
	name, typeName, comment string
	value                   constant.Value
}

// parseFiles parses the Go files in dir, except for tests.
func parseFiles(fset *token.FileSet, dir string) (files []*ast.File, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func parse(dir string) (source, error) {
	fset := token.NewFileSet()
	files, err := parseFiles(fset, dir)
	if err != nil {
		return source{}, err
	}
	docs, err := doc.NewFromFiles(fset, files, "schema", doc.PreserveAST)
	if err != nil {
		return source{}, err
	}

	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	// The errors come from imports, which this check cannot resolve. They are ignored, because constants do not need
	// the imports.
	conf := types.Config{Error: func(error) {}}
	conf.Check("schema", fset, files, info) //nolint:errcheck // see Error

	src := source{comments: map[string]string{}}
	groups := docs.Consts
	for _, t := range docs.Types {
		src.comments[t.Name] = oneLine(t.Doc)
		src.fieldComments(t)
		groups = append(groups, t.Consts...)
	}
	for _, group := range groups {
		for _, spec := range group.Decl.Specs {
			src.addConsts(spec.(*ast.ValueSpec), info)
		}
	}
	return src, nil
}

func (s *source) fieldComments(t *doc.Type) {
	for _, spec := range t.Decl.Specs {
		st, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range st.Fields.List {
			text := f.Doc.Text()
			if text == "" {
				text = f.Comment.Text()
			}
			// A comment above several names is stored for each of them.
			for _, name := range f.Names {
				s.comments[t.Name+"."+name.Name] = oneLine(text)
			}
		}
	}
}

func (s *source) addConsts(spec *ast.ValueSpec, info *types.Info) {
	for _, name := range spec.Names {
		c, ok := info.Defs[name].(*types.Const)
		if !ok || !name.IsExported() {
			continue
		}
		decl := constDecl{name: name.Name, value: c.Val(), comment: oneLine(spec.Doc.Text())}
		if named, ok := c.Type().(*types.Named); ok {
			decl.typeName = named.Obj().Name()
		}
		s.consts = append(s.consts, decl)
	}
}

// enum returns the values of the constants of a named string type.
func (s *source) enum(typeName string) []any {
	var values []any
	for _, c := range s.consts {
		if c.typeName == typeName && c.value.Kind() == constant.String {
			values = append(values, constant.StringVal(c.value))
		}
	}
	return values
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
