package host

import (
	"strings"
	"testing"
)

// Without magicctx, the next prompt of a session may be much too long for the window, and `uninstall` warns the user of
// such sessions. After a compaction by the harness, the prompt would be short even without magicctx. So the status must
// no longer report the size from before the compaction.
func TestTheSizeWithoutMagicctxFollowsACompactionByTheHarness(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "find it")
	h.pass()
	h.tool("a1", strings.Repeat("one two three four ", 5_000), "tool-calls", 1_000)
	h.pass()
	h.tool("a2", strings.Repeat("five six ", 2_000), "stop", 21_000)
	h.user("u2", "go on")
	h.pass()
	whole := h.sessionStatus().RawTokens
	if whole < 24_000 || whole > 26_000 {
		t.Fatalf("%d tokens without magicctx, want about 25,000", whole)
	}
	h.drop("call-1", "2")
	h.flush()
	h.pass()
	h.tool("a3", "three", "stop", 5_100)
	h.user("u3", "go on")
	h.pass()
	if st := h.sessionStatus(); st.Dropped != 1 || st.RawTokens < whole || st.RawTokens > whole+500 {
		t.Fatalf("%d tokens without magicctx and %d units dropped, want about %d and 1", st.RawTokens, st.Dropped, whole)
	}

	now := h.clock.Now()
	h.event(`{"type":"session.compacted","properties":{"sessionID":"ses_1"}}`)
	if got := h.sessionStatus().RawTokens; got != 0 {
		t.Errorf("%d tokens right after the compaction, want 0: nobody knows", got)
	}
	h.messages, h.told, h.revision = nil, 0, 0
	h.add(`{"info":{"id":"compaction","sessionID":"ses_1","role":"user","time":{"created":%d}},"parts":[{"id":"p","type":"compaction","auto":false}]}`, now)
	h.add(`{"info":{"id":"compacted","sessionID":"ses_1","role":"assistant","parentID":"compaction","summary":true,"finish":"stop","time":{"created":%d,"completed":%d}},"parts":[{"id":"q","type":"text","text":"They looked for it."}]}`, now, now)
	h.user("u4", "go on")
	h.pass()
	if got := h.sessionStatus().RawTokens; got == 0 || got > 1_100 {
		t.Errorf("%d tokens after the compaction, want at most 1,100", got)
	}
}
