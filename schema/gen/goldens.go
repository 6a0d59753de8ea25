package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// typescriptGoldens renders the golden of each method as a literal of its TypeScript type. The TypeScript compiler then
// finds members that are missing, unknown or of another type. If a test read the JSON at run time, the compiler could
// not check it.
func typescriptGoldens(testdata string) ([]byte, error) {
	w := &tsWriter{}
	w.printf("%simport type { HostCalls, HostNotifications, ShimCalls, ShimNotifications } from \"../../src/index.ts\"\n", tsHeader)
	for _, table := range methodTables {
		w.printf("\nexport const %s: %s = {\n", table.value, table.name)
		for _, m := range table.methods() {
			if err := w.golden(testdata, m); err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		w.printf("}\n")
	}
	w.printf("\n/** The file of each method's golden, relative to schema/testdata. */\nexport const goldenFiles: Record<string, string> = {\n")
	for _, m := range sortedMethods() {
		w.printf("  %q: %q,\n", m.Name, m.GoldenPath())
	}
	w.printf("}\n")
	return w.Bytes(), nil
}

func (w *tsWriter) golden(testdata string, m schema.MethodType) error {
	data, err := os.ReadFile(filepath.Join(testdata, filepath.FromSlash(m.GoldenPath())))
	if err != nil {
		return err
	}
	var golden struct {
		Params json.Value `json:"params"`
		Result json.Value `json:"result"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		return err
	}
	if m.Result == nil {
		w.printf("  %q: %s,\n", m.Name, golden.Params)
		return nil
	}
	w.printf("  %q: { params: %s, result: %s },\n", m.Name, golden.Params, golden.Result)
	return nil
}

func sortedMethods() []schema.MethodType {
	return slices.SortedFunc(slices.Values(schema.Methods), func(a, b schema.MethodType) int { return cmp.Compare(a.Name, b.Name) })
}
