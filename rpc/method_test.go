package rpc

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// The server knows only the methods in its table. If the types of an entry differed from the schema, the server would
// lose fields.
func TestMethodTableIsThatOfTheSchema(t *testing.T) {
	known := map[string]bool{}
	for _, want := range schema.Methods {
		known[want.Name] = true
		if want.Caller != schema.FromShim || want.Name == schema.MethodShutdown {
			continue
		}
		m, ok := methods[want.Name]
		if !ok {
			t.Errorf("%s: no entry in methods", want.Name)
			continue
		}
		if m.params != want.Params {
			t.Errorf("%s takes %v, the schema has %v", want.Name, m.params, want.Params)
		}
		// The answer to a notification is discarded.
		if want.Result != nil && m.result != want.Result {
			t.Errorf("%s answers %v, the schema has %v", want.Name, m.result, want.Result)
		}
	}
	for name := range methods {
		if !known[name] {
			t.Errorf("%s is not in schema.Methods", name)
		}
	}
}
