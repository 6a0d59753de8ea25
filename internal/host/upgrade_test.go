package host

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/pipeline/transcript/transcripttest"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// OpenCode 2 goes on with a session of version 1: its messages have the same ids, times, texts and calls, in another
// form. The session keeps its compartments, its tags and its drops.
func TestSessionOfOpenCode1GoesOnUnderVersion2(t *testing.T) {
	h := answering(t, good)
	h.talkLong()
	h.drop("call", "37") // after the end of the head
	h.drop("later", "41")
	h.flush()
	h.pass()
	one := h.compartments()
	if len(one) == 0 || h.cut == 0 {
		t.Fatal("version 1 has summarised nothing")
	}
	upgraded := *h
	upgraded.kind, upgraded.codec, upgraded.messages = schema.HarnessOpenCode2, transcript.OpenCode2{}, nil
	for _, raw := range h.messages {
		step, err := transcripttest.ToOpenCode2(raw)
		if err != nil {
			t.Fatal(err)
		}
		upgraded.messages = append(upgraded.messages, step)
	}
	if _, err := h.host.Initialize(t.Context(), &upgraded, schema.InitializeParams{Harness: upgraded.kind, Directory: "/p"}); err != nil {
		t.Fatal(err)
	}
	f := &sideSession{h: &upgraded, id: testSession, messages: upgraded.messages}
	f.user("after", "now under version 2")
	m := f.pass()
	if m.Start != h.cut || len(m.Head) != len(h.head) {
		t.Errorf("the tail starts at %d, after %d messages of the head; want %d, after %d", m.Start, len(m.Head), h.cut, len(h.head))
	}
	two, _, err := h.store.History.Compartments(t.Context(), store.Key{Harness: string(schema.HarnessOpenCode2), Session: testSession})
	if err != nil || len(two) != len(one) || two[0].Keys[0] != one[0].Keys[0] || two[0].Tiers != one[0].Tiers {
		t.Errorf("%d compartments, want %d: %v", len(two), len(one), err)
	}
	own, _, err := h.store.Load(t.Context(), store.Key{Harness: string(schema.HarnessOpenCode), Session: testSession})
	if err != nil {
		t.Fatal(err)
	}
	taken, _, err := h.store.Load(t.Context(), store.Key{Harness: string(schema.HarnessOpenCode2), Session: testSession})
	if err != nil || len(own.Edits) == 0 || len(taken.Edits) != len(own.Edits) || len(taken.Units) != len(own.Units)+1 {
		t.Errorf("version 2 has %d units and %d edits, version 1 %d and %d; %v", len(taken.Units), len(taken.Edits), len(own.Units), len(own.Edits), err)
	}
	for i, u := range own.Units {
		if v := taken.Units[i]; v.Tag != u.Tag || v.MessageKey != u.MessageKey || v.Kind != u.Kind || v.Fingerprint != u.Fingerprint {
			t.Fatalf("unit %d: %+v, want %+v", i, v, u)
		}
	}
	if head, err := json.Marshal(m.Head); err != nil || !strings.Contains(string(head), one[0].Tiers[0]) {
		t.Errorf("the head lacks the first compartment %q: %v\n%.1000s", one[0].Tiers[0], err, head)
	}
}
