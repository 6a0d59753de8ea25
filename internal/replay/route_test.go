package replay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func wireOf(texts ...string) (wires []render.WireMessage) {
	for _, text := range texts {
		wires = append(wires, render.WireMessage{Role: transcript.User, Blocks: []render.Block{{Kind: render.TextBlock, Text: text}}})
	}
	return wires
}

// The simulated provider caches by the rules of the route. After six idle minutes, Anthropic has to write the
// prompt again, but OpenAI still reads it.
func TestSimulatedCacheFollowsTheRoute(t *testing.T) {
	long := strings.Repeat("a ledger of the harbour ", 400)
	const pause = int64(6 * time.Minute / time.Millisecond)
	for name, reads := range map[string]bool{
		"anthropic": false, "anthropic-1h": true, "bedrock": false, "vertex": false, "openai": true, "openai-5.6": true, "unknown": true,
	} {
		b, r := newBiller(), route.Named(name)
		first, _ := b.request(0, "m", r, prompt{system: []string{long}, messages: wireOf(long)})
		then, _ := b.request(pause, "m", r, prompt{system: []string{long}, messages: wireOf(long, "more")})
		if got := then.Read > 0; got != reads {
			t.Errorf("%s: %+v after six minutes, read %t, want %t", name, then, got, reads)
		}
		if writes := first.Write > 0; writes != (r.Write > 1) {
			t.Errorf("%s: %+v, writes %t", name, first, writes)
		}
		late, _ := b.request(pause+25*60*60*1000, "m", r, prompt{system: []string{long}, messages: wireOf(long, "more")})
		if late.Read != 0 {
			t.Errorf("%s: %+v after a day", name, late)
		}
	}
}

// The simulated harness sets no more breakpoints than the provider accepts, here four. It needs two of them for the
// newest messages. So if a system prompt has four texts, only the first two get a breakpoint.
func TestSimulatedHarnessSetsNoMoreBreakpointsThanThereAre(t *testing.T) {
	long := strings.Repeat("a ledger of the harbour ", 400)
	b, r := newBiller(), route.Named("anthropic")
	system := []string{long, "two", "three", long}
	first, _ := b.request(0, "m", r, prompt{system: system, messages: wireOf("one")})
	got, _ := b.request(1, "m", r, prompt{system: system, messages: wireOf("another")})
	if first.Fresh != 0 || got.Read != tokens.Count(long)+tokens.Count("two") {
		t.Errorf("%+v after %+v", got, first)
	}
}

func TestReplayNamesItsRoute(t *testing.T) {
	for profile, want := range map[string]string{"": "anthropic", "bedrock": "bedrock", "vertex": "vertex", "openai": "openai", "google": "google"} {
		f, err := os.Open(filepath.Join(traces, "short.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		report, err := Run(t.Context(), f, Options{Profile: profile})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		s := report.Summary()
		if !slices.Equal(s.Routes, []string{want}) || s.Tokens.Read == 0 && want != "google" {
			t.Errorf("profile %q: routes %v, tokens %+v, want %s", profile, s.Routes, s.Tokens, want)
		}
		if hasFee := s.Tokens.Written > 0; hasFee != (route.Named(want).Write > 1) {
			t.Errorf("profile %q: %d tokens written", profile, s.Tokens.Written)
		}
	}
}
