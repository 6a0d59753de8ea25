package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
)

// Every key needs a comment in Config, because editors show it as the description of the key.
func TestEveryConfigKeyIsDescribed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	ast.Inspect(file, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if !ok || len(f.Names) == 0 {
			return true
		}
		keys++
		name := f.Names[0].Name
		if !strings.HasPrefix(f.Doc.Text(), name+" ") {
			t.Errorf("%s: the comment does not start with the name: %q", name, f.Doc.Text())
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil || reflect.StructTag(tag).Get("json") == "" {
			t.Errorf("%s: no key in the file: %v", name, err)
		}
		return true
	})
	if keys == 0 {
		t.Error("no keys found")
	}
}

// The keys that all agents share must be at the same level of the file as the agent's own keys.
func TestAgentKeysAreInline(t *testing.T) {
	data, err := json.Marshal(Historian{Agent: Agent{Model: "a/b"}, TwoPass: true})
	if err != nil {
		t.Fatal(err)
	}
	var block map[string]any
	if err := json.Unmarshal(data, &block); err != nil {
		t.Fatal(err)
	}
	if block["model"] != "a/b" || block["two_pass"] != true {
		t.Errorf("%s", data)
	}
}
