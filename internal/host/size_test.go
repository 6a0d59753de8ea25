package host

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func words(n int) string { return strings.TrimSpace(strings.Repeat("one ", n)) }

func (h *harness) ownCount() int {
	rows := h.journal()
	return rows[len(rows)-1].WireTokens
}

func (h *harness) believed() int {
	rows := h.journal()
	return rows[len(rows)-1].SizeTokens
}

// The function `filled` returns a session that has filled its window, freed space, and continued. The provider's count
// of a prompt is 4,000 tokens above the size of its messages. `before` is the number of messages at the pass that freed
// space.
func filled(t *testing.T) (h *harness, before int) {
	h = newHarness(t)
	for n := 1; n < 80; n++ {
		h.clock.Advance(time.Second)
		h.user(fmt.Sprintf("u%d", n), "go on")
		m := h.pass()
		if m.Verdict == schema.Soft {
			before = len(h.messages) - 1
		}
		h.tool(fmt.Sprintf("a%d", n), words(3000), "stop", 4000+h.ownCount())
		if before > 0 && len(h.messages) > before+4 {
			return h, before
		}
	}
	t.Fatal("no bust")
	return nil, 0
}

func (h *harness) wantBelieved(real int) {
	h.t.Helper()
	if got := h.believed(); got < real*3/4 || got > real*4/3 {
		h.t.Errorf("%d tokens are believed, %d are real", got, real)
	}
}

// Defect D5 (docs/defects.md): after a revert to a point before a bust, the drops of the bust stay. The newest usage
// then belongs to a prompt without these drops, so the host must not use it.
func TestDefectD5RevertToBeforeABust(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		h, before := filled(t)
		h.messages = h.messages[:before]
		h.told, h.revision = 0, 0
		h.user("u90", "try otherwise")
		if restarts {
			h.restart()
		}
		h.pass()
		h.wantBelieved(4000 + h.ownCount())
		believed := h.believed()
		h.restart()
		h.pass()
		if got := h.believed(); got != believed {
			t.Errorf("%d tokens before a restart, %d after it", believed, got)
		}
	}
}

// While the harness cannot reach the host, the provider refuses the raw array. The host must not believe that its
// own, smaller wire was refused. Otherwise, it would drop content from a wire that fits.
func TestRefusalOfTheRawArrayIsNotBelievedOfTheWire(t *testing.T) {
	for _, isPatched := range []bool{false, true} { // with patches, the refused prompt is smaller than the raw array
		testRefusalOfAnother(t, isPatched)
	}
}

func testRefusalOfAnother(t *testing.T, isPatched bool) {
	h, _ := filled(t)
	for n := range 40 {
		h.clock.Advance(time.Second)
		h.user(fmt.Sprintf("v%d", n), "go on")
		h.pass()
		h.tool(fmt.Sprintf("b%d", n), words(3000), "stop", 4000+h.ownCount())
	}
	h.user("u90", "go on")
	h.pass()
	own, raw := h.ownCount(), 0
	for _, m := range h.messages {
		raw += strings.Count(string(m), "one ")
	}
	if isPatched {
		raw = 101_000
	}
	h.clock.Advance(time.Second)
	h.lastWire = "" // the next request leaves without the host
	h.user("u91", "go on")
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"prompt is too long: %d tokens > 100000 maximum"}}}}`, 4000+raw)
	h.user("u92", "go on")
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("%s (%s) for a wire that fits", m.Verdict, m.Cause)
	}
	h.wantBelieved(4000 + own)
	h.user("u93", "go on") // no answer has reported a usage
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("%s (%s) in the pass after", m.Verdict, m.Cause)
	}
	h.wantBelieved(4000 + own)
}

// D5: if the database is lost, its edits are lost, too. But the usages in the transcript still belong to the smaller
// prompts that had these edits. Even so, the first prompt after the loss must fit into the window.
func TestDefectD5LostDatabase(t *testing.T) {
	h, _ := filled(t)
	raw := 0
	for _, m := range h.messages {
		raw += strings.Count(string(m), "one ")
	}
	h.store.Close()
	h.dir = t.TempDir()
	var err error
	if h.store, err = store.Open(context.Background(), store.Options{Dir: h.dir, Log: slog.New(slog.DiscardHandler), Clock: h.clock}); err != nil {
		t.Fatal(err)
	}
	h.store.Close()
	h.start()
	h.user("u90", "go on")
	h.pass()
	h.wantBelieved(4000 + raw)
	if got := h.ownCount(); got > 100_000 {
		t.Errorf("the first prompt has %d tokens", got)
	}
}

// D5: a refusal names the real size of the prompt. If the host used the limit instead, it would free too little.
func TestDefectD5RefusedPromptFreesEnoughAtOnce(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "go on")
	h.pass()
	for n := range 40 { // all in one turn, which reports few usages
		h.clock.Advance(time.Second)
		h.tool(fmt.Sprintf("a%d", n), words(2500), "tool-calls", 5000)
		h.user(fmt.Sprintf("u%d", n+2), "go on")
	}
	h.pass()
	own := h.ownCount()
	real := 337_000
	h.clock.Advance(time.Second)
	h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"prompt is too long: 337000 tokens > 100000 maximum"}}}}`)
	h.restart()
	h.user("u90", "go on")
	m := h.pass()
	if m.Cause != "overflow" {
		t.Fatalf("%s (%s)", m.Verdict, m.Cause)
	}
	if got := float64(h.ownCount()) * float64(real) / float64(own); got > 100_000 {
		t.Errorf("the next prompt has %.0f tokens of 100,000 (the refused one 337,000, by the host's count %d)", got, own)
	}
	if got := h.believed(); got < real {
		t.Errorf("%d tokens are believed of %d", got, real)
	}
}

// The user takes a refused prompt back. The refusal says nothing about the size of the next prompt, which is shorter.
func TestRefusalSaysNothingAboutAShorterPrompt(t *testing.T) {
	for _, c := range []struct {
		name               string
		back               int  // number of messages that are taken back
		restarts, reloaded bool // restarts of the host, and of the shim
	}{
		{"only the refused prompt", 1, false, false},
		{"only the refused prompt, the host restarts", 1, true, false},
		{"nearly all", 9, false, false},
		{"nearly all, the host restarts", 9, true, false},
		{"nearly all, the shim forgets what it has sent", 9, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t)
			for n := range 5 {
				h.clock.Advance(time.Second)
				h.user(fmt.Sprintf("u%d", n), words(2000))
				h.pass()
				h.tool(fmt.Sprintf("a%d", n), words(4000), "stop", 4000+h.ownCount())
			}
			h.clock.Advance(time.Second)
			h.user("u5", words(40_000)) // by the host's count it fits
			h.pass()
			h.clock.Advance(time.Second)
			h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"prompt is too long: 105000 tokens > 100000 maximum"}}}}`)
			h.messages = h.messages[:len(h.messages)-c.back]
			h.told, h.revision = 0, 0
			if c.restarts {
				h.restart()
			}
			if c.reloaded {
				h.lastWire = ""
			}
			for n := range 3 { // no answer reports a usage
				h.user(fmt.Sprintf("u9%d", n), "a short one")
				h.pass()
				h.wantBelieved(4000 + h.ownCount())
				now := h.clock.Now()
				h.add(`{"info":{"id":"a9%d","sessionID":"ses_1","role":"assistant","time":{"created":%d,"completed":%d},"providerID":"anthropic","modelID":"m","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}},"parts":[{"id":"p9%d","type":"text","text":"I"}]}`, n, now, now, n)
			}
		})
	}
}

// The user takes a refused prompt back, and the next prompt is not shorter. The provider would refuse this prompt,
// too, so the host must remember the refusal (-seed 3916918 of the fuzzer).
func TestRefusalSpeaksAboutALongerPrompt(t *testing.T) {
	h := newHarness(t)
	for n := range 5 {
		h.clock.Advance(time.Second)
		h.user(fmt.Sprintf("u%d", n), words(2000))
		h.pass()
		h.tool(fmt.Sprintf("a%d", n), words(4000), "stop", 4000+h.ownCount())
	}
	refuse := func(id string, size int) schema.WireMutation {
		h.clock.Advance(time.Second)
		h.user(id, words(size))
		m := h.pass()
		h.clock.Advance(time.Second)
		h.event(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"prompt is too long"}}}}`)
		h.messages = h.messages[:len(h.messages)-1]
		h.told = len(h.messages)
		return m
	}
	refuse("u5", 20_000)
	if m := refuse("u6", 19_000); m.Cause == "overflow" {
		t.Error("a shorter prompt is dropped from, as if the provider had refused it")
	}
	refuse("u7", 20_000)
	if m := refuse("u8", 21_000); m.Cause != "overflow" {
		t.Errorf("a longer prompt than the refused one: %s (%s)", m.Verdict, m.Cause)
	}
}
