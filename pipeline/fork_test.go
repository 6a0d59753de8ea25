package pipeline

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// OpenCode 2 can put a message without units between a prompt and its answer, for example a changed instruction. A fork
// directly after the answer lost its thinking then, and distrusted its usages.
func TestCopyFindsTheAnswerBehindAMessageWithoutUnits(t *testing.T) {
	prompt := outlined{key: "u", role: transcript.User, units: []outlinedUnit{{"u\x00", 1}}}
	answer := outlined{key: "a", role: transcript.Assistant, units: []outlinedUnit{{"a\x00", 2}}}
	for name, c := range map[string]struct {
		between []outlined
		next    string
	}{
		"nothing between":  {nil, "a"},
		"a changed rule":   {[]outlined{{key: "s", role: transcript.User}}, "a"},
		"the fork's words": {[]outlined{{key: "v", role: transcript.User, units: []outlinedUnit{{"v\x00", 3}}}}, ""},
	} {
		o := append(append(Outline{prompt}, c.between...), answer)
		got := o.CopyOf([]frozen.Unit{{Tag: 1, Key: "was\x00", MessageKey: "was", Fingerprint: 1}})
		if got.Next != c.next || got.GoesOn != (c.next == "") {
			t.Errorf("%s: next %q, goes on %t, want %q", name, got.Next, got.GoesOn, c.next)
		}
	}
}

// The user of Pi has compacted directly after an answer, and forks from before the compaction. No array of the original
// held the answer, and its newest messages are not in the fork. Once, the fork lost the thinking of the answer.
func TestForkKeepsThinkingOfAnAnswerBeforeACompaction(t *testing.T) {
	o := Outline{
		{key: "user:1", role: transcript.User, units: []outlinedUnit{{"user:1\x00", 1}}},
		{key: "assistant:2", role: transcript.Assistant, units: []outlinedUnit{{"assistant:2\x00", 2}}},
		{key: "user:9", role: transcript.User, units: []outlinedUnit{{"user:9\x00", 9}}},
	}
	c := o.CopyOf([]frozen.Unit{{Tag: 1, Key: "user:1\x00", MessageKey: "user:1", Fingerprint: 1}, {Tag: 2, Key: "user:3\x00", MessageKey: "user:3", Fingerprint: 3}})
	for key, want := range map[string]bool{"user:1": true, "assistant:2": true, "assistant:4": false} {
		b, ok := c.MovedBinding(frozen.Binding{MessageKey: key, Prompt: "p"}, Chain{}, 0)
		if ok != want || want && b.MessageKey != key {
			t.Errorf("the binding of %s is kept: %t, want %t; its key is %q", key, ok, want, b.MessageKey)
		}
	}
}
