package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/pipeline/transcript/transcripttest"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// OpenCode 2 can continue a session of version 1. It changes the form of the messages, but not their ids, times, texts
// and calls. The session must keep its compartments, tags and drops. If a compaction or a marker hides old messages,
// OpenCode 2 puts a summary in their place. This summary has the id of a hidden prompt.
func TestSessionOfOpenCode1GoesOnUnderVersion2(t *testing.T) {
	for _, hidden := range []int{0, 9} {
		t.Run(fmt.Sprintf("%d messages are hidden", hidden), func(t *testing.T) {
			h := answering(t, good)
			h.talkLong()
			h.drop("call", "37") // after the end of the head
			h.drop("later", "41")
			h.flush()
			h.pass()
			one := h.compartments()
			if len(one) == 0 || h.cut <= hidden {
				t.Fatalf("version 1 has summarised %d messages", h.cut)
			}
			two := h.underVersion2(hidden)
			two.user("after", "now under version 2")
			m := two.pass()
			if want := h.cut - max(0, hidden-1); m.Start != want || len(m.Head) != len(h.head) {
				t.Errorf("the tail starts at %d, after %d messages of the head; want %d, after %d", m.Start, len(m.Head), want, len(h.head))
			}
			rows, _, err := h.store.History.Compartments(t.Context(), two.h.key(testSession))
			if err != nil || len(rows) != len(one) || !slices.Equal(rows[0].Keys, one[0].Keys) || rows[0].Tiers != one[0].Tiers {
				t.Errorf("%d compartments, want %d: %v", len(rows), len(one), err)
			}
			own, _, err := h.store.Load(t.Context(), h.key(testSession))
			if err != nil {
				t.Fatal(err)
			}
			taken, _, err := h.store.Load(t.Context(), two.h.key(testSession))
			if err != nil || len(own.Edits) == 0 || len(taken.Edits) != len(own.Edits) {
				t.Errorf("version 2 has %d edits, version 1 %d; %v", len(taken.Edits), len(own.Edits), err)
			}
			byTag := map[int]store.UnitRow{}
			for _, u := range taken.Units {
				byTag[u.Tag] = u
			}
			for _, u := range own.Units {
				if v, ok := byTag[u.Tag]; ok && (v.MessageKey != u.MessageKey || v.Kind != u.Kind || v.Fingerprint != u.Fingerprint) || !ok && hidden == 0 {
					t.Fatalf("unit %d: %+v, want %+v", u.Tag, v, u)
				}
			}
			if head, err := json.Marshal(m.Head); err != nil || !strings.Contains(string(head), one[0].Tiers[0]) {
				t.Errorf("the head lacks the first compartment %q: %v\n%.1000s", one[0].Tiers[0], err, head)
			}
		})
	}
}

func (h *harness) underVersion2(hidden int) *sideSession {
	h.t.Helper()
	two := *h
	two.kind, two.codec, two.messages = schema.HarnessOpenCode2, transcript.OpenCode2{}, nil
	for _, raw := range h.messages[max(0, hidden-1):] {
		step, err := transcripttest.ToOpenCode2(raw)
		if err != nil {
			h.t.Fatal(err)
		}
		two.messages = append(two.messages, step)
	}
	if hidden > 0 {
		m := two.codec.Decode(two.messages[0])
		two.messages[0] = json.Value(fmt.Sprintf(`{"id":%q,"info":{"type":"compaction","created":%d},"message":{"id":%q,"role":"user","content":[{"type":"text","text":"<conversation-checkpoint>"}]}}`, m.Key, m.Created, m.Key))
	}
	if _, err := h.host.Initialize(h.t.Context(), &two, schema.InitializeParams{Harness: two.kind, Directory: "/p"}); err != nil {
		h.t.Fatal(err)
	}
	return &sideSession{h: &two, id: testSession, messages: two.messages}
}
