package mockllm

import (
	"bytes"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
)

// No input may cause a panic in the mock. If a block's breakpoint is removed, all other bytes must be the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"messages":[{"role":"user","content":"go"}]}`, `{"system":[{"cache_control":{},"text":"\ud800"}],"messages":[]}`,
		`{"messages":[{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"}]},{"content":[[],1,null]}]}`,
		`{"tools":[{"name":"a","cache_control":null},{"function":{"name":"b"}}]}`, `{"tools":[{"cache_control":1,"cache_control":2}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, dialect := range []Dialect{Anthropic, OpenAI} {
			r := &Request{Dialect: dialect, Body: bytes.Clone(raw)}
			if r.parse() != nil {
				continue
			}
			for _, b := range r.Blocks {
				if !b.JSON.IsValid() && json.Value(raw).IsValid() {
					t.Errorf("%s is no longer JSON: %s", b.Where, b.JSON)
				}
			}
			if !bytes.Equal(r.Body, raw) {
				t.Error("parsing changed the body")
			}
		}
	})
}
