package rawhistory

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/schema"
)

// The reader must not panic, and must return each ordinal once and in order.
func FuzzPiFile(f *testing.F) {
	p := rawhistorytest.NewPi(f, f.TempDir(), "s")
	p.Message(json.Value(`{"role":"user","content":"one","timestamp":1}`))
	p.Message(json.Value(`{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"read"}],"timestamp":2}`))
	p.Message(json.Value(`{"role":"toolResult","toolCallId":"a","content":"A","timestamp":3}`))
	p.Entry("context_edit", `"targetId":"00000001","replacement":{"content":[1]}`)
	p.Message(json.Value(`{"role":"custom","customType":"note","content":"n"}`))
	content, err := os.ReadFile(p.Path)
	if err != nil {
		f.Fatal(err)
	}
	header, lines, _ := strings.Cut(string(content), "\n")
	f.Add([]byte(lines))
	f.Add([]byte(strings.ReplaceAll(lines, `"parentId"`, `"parentid"`)))
	f.Add([]byte(strings.ReplaceAll(lines, `}}`, `}`)))
	f.Add([]byte(strings.ReplaceAll(lines, `"timestamp":`, `"timestamp":null,"t":`)))
	f.Fuzz(func(t *testing.T, lines []byte) {
		content := append([]byte(header+"\n"), lines...)
		s := Session{Harness: schema.HarnessPi, ID: "s"}
		last := 0
		_, err := readSessionFile(t.Context(), bytes.NewReader(content), int64(len(content)), s, 1, 1<<30, func(m Message) bool {
			if m.Ordinal != last+1 {
				t.Errorf("message %d follows %d", m.Ordinal, last)
			}
			last = m.Ordinal
			if text := Text(m, TextOptions{}); !strings.HasSuffix(text, "\n") {
				t.Errorf("message %d: %q", m.Ordinal, text)
			}
			return true
		})
		if err != nil {
			t.Errorf("broken lines are no error, but: %v", err)
		}
	})
}
