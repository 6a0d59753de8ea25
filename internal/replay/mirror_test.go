package replay

import (
	"fmt"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// The head replaces all messages before the index Start, both in the rendered messages and in the array of the wire.
// The raw array keeps all messages.
func TestMirrorPutsTheHeadBeforeTheTail(t *testing.T) {
	message := func(key string) json.Value {
		return json.Value(fmt.Sprintf(`{"info":{"id":%q,"role":"user"},"parts":[{"id":"p","type":"text","text":%q}]}`, key, key))
	}
	m := newMirror(transcript.OpenCode{})
	if err := m.update(0, json.Value(fmt.Sprintf("[%s,%s,%s]", message("a"), message("b"), message("c")))); err != nil {
		t.Fatal(err)
	}
	rendered, err := m.apply(schema.WireMutation{Start: 2, Head: []json.Value{message("h")}})
	if err != nil {
		t.Fatal(err)
	}
	raw, wire, err := m.arrays()
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != 3 {
		t.Errorf("the raw array has %d messages, want 3", len(raw))
	}
	if len(rendered) != 2 || rendered[0].Wire.Key != "h" || rendered[1].Wire.Key != "c" {
		t.Errorf("rendered %+v, want h and c", rendered)
	}
	if len(wire) != 2 || string(wire[0]) != string(message("h")) || string(wire[1]) != string(message("c")) {
		t.Errorf("the array of the wire is %s, want h and c", wire)
	}
}
