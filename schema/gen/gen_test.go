package main

import (
	"bytes"
	"go/constant"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

func TestGeneratedFilesAreFresh(t *testing.T) {
	files, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate ./schema", filepath.Clean(name))
		}
	}
}

// A Method constant without an entry in the table would be missing from the
// TypeScript types.
func TestEveryMethodHasTypes(t *testing.T) {
	src, err := parse("..")
	if err != nil {
		t.Fatal(err)
	}
	bound := map[string]bool{}
	for _, m := range schema.Methods {
		if bound[m.Name] {
			t.Errorf("%s is bound twice", m.Name)
		}
		bound[m.Name] = true
	}
	count := 0
	for _, c := range src.consts {
		if !strings.HasPrefix(c.name, "Method") {
			continue
		}
		count++
		if name := constant.StringVal(c.value); !bound[name] {
			t.Errorf("%s (%s) has no entry in schema.Methods", c.name, name)
		}
	}
	if count != len(schema.Methods) {
		t.Errorf("%d Method constants, %d bound methods", count, len(schema.Methods))
	}
}

// Tests that must cover all harnesses loop over schema.Harnesses. If a harness were missing from that list, these tests
// would silently skip it.
func TestHarnessesAreAllConstants(t *testing.T) {
	src, err := parse("..")
	if err != nil {
		t.Fatal(err)
	}
	var listed []any
	for _, h := range schema.Harnesses {
		listed = append(listed, string(h))
	}
	if constants := src.enum("Harness"); !slices.Equal(constants, listed) {
		t.Errorf("the constants of schema.Harness are %q, schema.Harnesses has %q", constants, listed)
	}
}
