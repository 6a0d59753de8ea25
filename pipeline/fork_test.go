package pipeline

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A fixed bug: in OpenCode 2, a message without units, for example a changed instruction, may come between a prompt and
// its answer. CopyOf did not look behind this message, so it did not recognise the answer in the fork as a copy. The
// fork then lost the answer's thinking, and the host ignored the fork's usages.
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
