package host

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/importing"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/store/plugindb/plugindbtest"
)

// The TypeScript plugin has summarised a session, and its summaries are imported. They must then replace their messages
// in the prompt. If the plugin had also compacted the session, the array no longer contains the oldest messages: it
// begins with the prompt before the compaction's summary.
func TestSessionGoesOnWithImportedSummaries(t *testing.T) {
	for _, isCompacted := range []bool{false, true} {
		h := newHarness(t)
		home := h.readsStores()
		for _, id := range []string{"1", "2", "3"} {
			h.user("u"+id, "prompt "+id)
			h.tool("a"+id, "result "+id, "stop", 1_000)
		}
		const summary = `{"info":{"id":"s","sessionID":"ses_1","role":"assistant","summary":true,"finish":"stop","parentID":"u2","mode":"compaction","time":{"created":1}},"parts":[{"id":"p-s","type":"text","text":"compacted by the plugin"}]}`
		db := rawhistorytest.NewOpenCode(t, home)
		db.Add(testSession, apart(h.messages))
		if isCompacted {
			h.messages = append(h.messages[2:3:3], append([]json.Value{json.Value(summary)}, h.messages[3:]...)...)
		}
		plugin := plugindbtest.New(t, filepath.Join(home, "plugin"), 36)
		plugin.Compartment(testSession, 0, "u1", "a1", "one", "the zebra was painted", 0)
		plugin.Compartment(testSession, 1, "u2", "a2", "two", "the giraffe was fed", 0)
		importer := importing.Importer{
			Dir: h.dir, Clock: h.clock, Reader: rawhistory.Reader{Env: func(name string) string { return map[string]string{"HOME": home}[name] }},
			Identify: func(context.Context, string) (string, error) { return "", errors.New("not asked") },
		}
		if r, err := importer.Run(t.Context(), plugin.Path); err != nil || r.Taken() != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		h.pass()
		wire := h.wire()
		for text, want := range map[string]bool{"the zebra was painted": true, "the giraffe was fed": true, "result 1": false, "result 2": false, "prompt 3": true, "result 3": true} {
			if strings.Contains(wire, text) != want {
				t.Errorf("compacted %t: %q is in the wire: %t", isCompacted, text, !want)
			}
		}
	}
}
