package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/magicctx/magicctx-host/schema"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := generate(".")
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the content of every generated file. The keys are paths
// relative to dir, the directory of package schema.
func generate(dir string) (map[string][]byte, error) {
	src, err := parse(dir)
	if err != nil {
		return nil, fmt.Errorf("read package schema: %w", err)
	}
	protocol := reflectAll(src, protocolTypes(), open)
	protocolDoc, err := protocolDocument(protocol)
	if err != nil {
		return nil, fmt.Errorf("protocol schema: %w", err)
	}
	config, err := configDocument(reflectAll(src, []reflect.Type{reflect.TypeFor[schema.Config]()}, closed))
	if err != nil {
		return nil, fmt.Errorf("configuration schema: %w", err)
	}
	page, err := reference(src)
	if err != nil {
		return nil, fmt.Errorf("reference of the configuration: %w", err)
	}
	ts, err := typescript(src, protocol)
	if err != nil {
		return nil, fmt.Errorf("protocol types: %w", err)
	}
	goldens, err := typescriptGoldens(filepath.Join(dir, "testdata"))
	if err != nil {
		return nil, fmt.Errorf("goldens: %w", err)
	}
	return map[string][]byte{
		filepath.Join(dir, "protocol.schema.json"):                            protocolDoc,
		filepath.Join(dir, "..", "docs", "configuration.md"):                  page,
		filepath.Join(dir, "config.schema.json"):                              config,
		filepath.Join(dir, "../adapters/shim-core/src/generated/protocol.ts"): ts,
		filepath.Join(dir, "../adapters/shim-core/test/generated/goldens.ts"): goldens,
	}, nil
}

func protocolTypes() []reflect.Type {
	var types []reflect.Type
	for _, m := range schema.Methods {
		types = append(types, m.Params)
		if m.Result != nil {
			types = append(types, m.Result)
		}
	}
	return types
}
