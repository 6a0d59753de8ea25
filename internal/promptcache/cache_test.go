package promptcache

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
)

// These are Anthropic's documented figures. The zero Cache follows them.
var minTokens, lookback = route.Named("anthropic").MinTokens, route.Named("anthropic").Lookback

// A negative size marks a breakpoint.
func prompt(name string, tokens ...int) []Block {
	blocks := make([]Block, len(tokens))
	for i, n := range tokens {
		blocks[i] = Block{
			Hash:       HashOf(fmt.Appendf(nil, "%s%d", name, i)),
			Tokens:     max(n, -n),
			Breakpoint: n < 0,
		}
	}
	return blocks
}

func TestAccount(t *testing.T) {
	type request struct {
		at     int64
		model  string
		blocks []Block
		want   Tokens
	}
	long := prompt("a", -2000, 500, -500)
	for _, tc := range []struct {
		name     string
		ttl      int64
		requests []request
	}{
		{"nothing is marked", 0, []request{
			{0, "m", prompt("a", 5000, 100), Tokens{Fresh: 5100}},
			{1, "m", prompt("a", 5000, 100), Tokens{Fresh: 5100}},
		}},
		{"the same prompt twice", 0, []request{
			{0, "m", long, Tokens{Write: 3000}},
			{1, "m", long, Tokens{Read: 3000}},
		}},
		{"what follows the last breakpoint stays fresh", 0, []request{
			{0, "m", prompt("a", -2000, 70), Tokens{Write: 2000, Fresh: 70}},
			{1, "m", prompt("a", -2000, 70), Tokens{Read: 2000, Fresh: 70}},
		}},
		{"a prefix below the minimum is neither written nor read", 0, []request{
			{0, "m", prompt("a", -(minTokens - 1)), Tokens{Fresh: minTokens - 1}},
			{1, "m", prompt("a", -(minTokens - 1), -1), Tokens{Write: minTokens}},
			{2, "m", prompt("a", -(minTokens - 1)), Tokens{Fresh: minTokens - 1}},
		}},
		{"models share nothing", 0, []request{
			{0, "m", long, Tokens{Write: 3000}},
			{1, "n", long, Tokens{Write: 3000}},
		}},
		{"a changed tail falls back to an earlier breakpoint", 0, []request{
			{0, "m", long, Tokens{Write: 3000}},
			{1, "m", append(prompt("a", -2000), prompt("b", 500, -500)...), Tokens{Read: 2000, Write: 1000}},
		}},
		{"an unmarked earlier prefix was never remembered", 0, []request{
			{0, "m", prompt("a", 2000, 500, -500), Tokens{Write: 3000}},
			{1, "m", append(prompt("a", 2000, 500), prompt("b", -500)...), Tokens{Write: 3000}},
		}},
		{"an entry dies of age", 1000, []request{
			{0, "m", long, Tokens{Write: 3000}},
			{1001, "m", long, Tokens{Write: 3000}},
		}},
		{"reading keeps an entry alive", 1000, []request{
			{0, "m", prompt("a", -2000, -500), Tokens{Write: 2500}},
			{1000, "m", append(prompt("a", -2000, 500), prompt("b", -500)...), Tokens{Read: 2500, Write: 500}},
			{2000, "m", prompt("a", -2000, -500), Tokens{Read: 2500}},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cache := &Cache{TTL: tc.ttl}
			for i, r := range tc.requests {
				if got := cache.Account(r.at, r.model, r.blocks); got != r.want {
					t.Errorf("request %d: got %+v, want %+v", i, got, r.want)
				}
			}
		})
	}
}

func TestLookbackReachesExactlyTwentyBlocks(t *testing.T) {
	for appended, wantRead := range map[int]int{lookback: 2000, lookback + 1: 0} {
		cache := &Cache{}
		sizes := []int{-2000}
		cache.Account(0, "m", prompt("a", sizes...))
		sizes[0] = 2000
		for range appended {
			sizes = append(sizes, 10)
		}
		sizes[len(sizes)-1] = -10
		if got := cache.Account(1, "m", prompt("a", sizes...)); got.Read != wantRead {
			t.Errorf("%d blocks appended: read %d tokens, want %d", appended, got.Read, wantRead)
		}
	}
}

// OpenAI needs no breakpoints. It caches every prompt of at least 1,024 tokens, and the cached part grows in
// steps of 128. Before GPT-5.6, OpenAI does not charge for writes, and does not report them.
func TestAccountWithoutBreakpoints(t *testing.T) {
	type request struct {
		at     int64
		model  string
		blocks []Block
		want   Tokens
	}
	grown := append(prompt("a", 2000, 500), prompt("b", 300)...)
	for _, tc := range []struct {
		name, route string
		ttl         int64
		requests    []request
	}{
		{"the same prompt twice", "openai", 0, []request{
			{0, "m", prompt("a", 2000, 500), Tokens{Fresh: 2500}},
			{1, "m", prompt("a", 2000, 500), Tokens{Fresh: 68, Read: 2432}}, // 1,024 tokens and 11 steps of 128
		}},
		{"a longer prompt", "openai", 0, []request{
			{0, "m", prompt("a", 2000, 500), Tokens{Fresh: 2500}},
			{1, "m", grown, Tokens{Fresh: 368, Read: 2432}},
			{2, "m", grown, Tokens{Fresh: 112, Read: 2688}},
		}},
		{"marks mean nothing", "openai", 0, []request{
			{0, "m", prompt("a", 2000, -500), Tokens{Fresh: 2500}},
			{1, "m", prompt("a", -2000, 500), Tokens{Fresh: 68, Read: 2432}},
		}},
		{"with a fee writes are reported", "openai-5.6", 0, []request{
			{0, "m", prompt("a", 2000, 500), Tokens{Fresh: 68, Write: 2432}},
			{1, "m", grown, Tokens{Fresh: 112, Write: 256, Read: 2432}},
		}},
		{"a change in the middle leaves what stands before it", "openai", 0, []request{
			{0, "m", prompt("a", 2000, 500, 500), Tokens{Fresh: 3000}},
			{1, "m", append(prompt("a", 2000), prompt("b", 500, 500)...), Tokens{Fresh: 1080, Read: 1920}},
		}},
		{"and so does one further back than twenty blocks", "openai", 0, []request{
			{0, "m", append(prompt("a", 1024), prompt("c", make([]int, 30)...)...), Tokens{Fresh: 1024}},
			{1, "m", append(prompt("a", 1024, 10), prompt("c", make([]int, 30)...)...), Tokens{Fresh: 10, Read: 1024}},
		}},
		{"one token less than the minimum", "openai", 0, []request{
			{0, "m", prompt("a", 1023), Tokens{Fresh: 1023}},
			{1, "m", prompt("a", 1023, 1), Tokens{Fresh: 1024}},
			{2, "m", prompt("a", 1023, 1), Tokens{Read: 1024}},
		}},
		{"models share nothing", "openai", 0, []request{
			{0, "m", prompt("a", 2048), Tokens{Fresh: 2048}},
			{1, "n", prompt("a", 2048), Tokens{Fresh: 2048}},
		}},
		{"a prefix dies of age", "openai", 1000, []request{
			{0, "m", prompt("a", 2048), Tokens{Fresh: 2048}},
			{1000, "m", prompt("a", 2048), Tokens{Read: 2048}},
			{2001, "m", prompt("a", 2048), Tokens{Fresh: 2048}},
		}},
		{"Gemini counts no steps", "google", 0, []request{
			{0, "m", prompt("a", 4100), Tokens{Fresh: 4100}},
			{1, "m", prompt("a", 4100), Tokens{Read: 4100}},
			{2, "m", prompt("b", 4095), Tokens{Fresh: 4095}},
			{3, "m", prompt("b", 4095), Tokens{Fresh: 4095}},
		}},
		{"an empty prompt", "openai", 0, []request{{0, "m", nil, Tokens{}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cache := &Cache{TTL: tc.ttl, Route: route.Named(tc.route)}
			for i, r := range tc.requests {
				if got := cache.Account(r.at, r.model, r.blocks); got != r.want {
					t.Errorf("request %d: got %+v, want %+v", i, got, r.want)
				}
			}
		})
	}
}

// Some providers need no breakpoints: they cache every prompt that is long enough, up to the last full step. If a
// prompt only grows, the next request must read all of these tokens from the cache.
func TestExtensionOfAPromptWithoutBreakpoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(route.All()).Filter(route.Route.IsImplicit).Draw(t, "route")
		blocks := genPrompt(1).Draw(t, "prompt")
		cache := &Cache{Route: r}
		cache.Account(0, "m", blocks)
		grown := append(blocks[:len(blocks):len(blocks)], genPrompt(0).Draw(t, "appended")...)
		got := cache.Account(1, "m", grown)
		before := total(blocks)
		if before < r.MinTokens {
			before = 0
		}
		if got.Read > before || got.Read < before-max(0, r.Step-1) {
			t.Fatalf("read %d tokens of %d", got.Read, before)
		}
	})
}

func genPrompt(minBlocks int) *rapid.Generator[[]Block] {
	return rapid.Custom(func(t *rapid.T) []Block {
		n := rapid.IntRange(minBlocks, 60).Draw(t, "blocks")
		blocks := make([]Block, n)
		for i := range blocks {
			// Only four contents exist, so different prompts often share a prefix.
			content := rapid.SampledFrom([]int{1, 40, 500, 900}).Draw(t, "content")
			blocks[i] = Block{
				Hash:       HashOf(fmt.Appendf(nil, "%d/%d", i, content)),
				Tokens:     content,
				Breakpoint: rapid.IntRange(0, 7).Draw(t, "mark") == 0,
			}
		}
		return blocks
	})
}

func total(blocks []Block) (n int) {
	for _, b := range blocks {
		n += b.Tokens
	}
	return n
}

func TestCountsAddUpToThePrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cache := &Cache{TTL: rapid.Int64Range(0, 5).Draw(t, "ttl"), Route: rapid.SampledFrom(route.All()).Draw(t, "route")}
		for now := range int64(5) {
			blocks := genPrompt(0).Draw(t, "prompt")
			got := cache.Account(now, "m", blocks)
			if got.Fresh < 0 || got.Write < 0 || got.Read < 0 || got.Prompt() != total(blocks) {
				t.Fatalf("%+v does not add up to %d tokens", got, total(blocks))
			}
		}
	})
}

// The harness puts breakpoints on the newest messages of every request. The provider looks back a few blocks from a
// breakpoint for a cached prefix. If the prompt only grows, and by fewer blocks than that, the next request must read
// everything that was written.
func TestExtensionReadsAllThatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := genPrompt(1).Draw(t, "prompt")
		blocks[len(blocks)-1].Breakpoint = true
		cache := &Cache{}
		before := cache.Account(0, "m", blocks)

		grown := append(blocks[:len(blocks):len(blocks)], genPrompt(0).Filter(func(b []Block) bool {
			return len(b) <= lookback
		}).Draw(t, "appended")...)
		for i := range grown {
			grown[i].Breakpoint = i == len(grown)-1 // breakpoints of earlier requests are removed
		}
		after := cache.Account(1, "m", grown)
		if want := before.Write + before.Read; after.Read != want {
			t.Fatalf("read %d tokens, the request before left %d", after.Read, want)
		}
	})
}

func TestChangedBlockCostsEverythingAfterIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := genPrompt(1).Draw(t, "prompt")
		cache := &Cache{Route: rapid.SampledFrom(route.All()).Draw(t, "route")}
		cache.Account(0, "m", blocks)

		changed := rapid.IntRange(0, len(blocks)-1).Draw(t, "changed")
		edited := append([]Block(nil), blocks...)
		edited[changed].Hash = HashOf([]byte("edited"))
		got := cache.Account(1, "m", edited)
		if limit := total(blocks[:changed]); got.Read > limit {
			t.Fatalf("read %d tokens, but only %d stand before the changed block %d", got.Read, limit, changed)
		}
		if least := total(blocks[changed:]); got.Fresh+got.Write < least {
			t.Fatalf("paid for %d tokens, the changed rest holds %d", got.Fresh+got.Write, least)
		}
	})
}

func TestBill(t *testing.T) {
	price := schema.Price{Fresh: 3, Write: 3.75, Read: 0.3, Output: 15}
	got := Bill(Tokens{Fresh: 1_000_000, Write: 2_000_000, Read: 10_000_000, Output: 100_000}, price)
	if want := 3 + 7.5 + 3 + 1.5; math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkAccount(b *testing.B) {
	blocks := make([]Block, 3000)
	for i := range blocks {
		blocks[i] = Block{Hash: HashOf(fmt.Appendf(nil, "%d", i)), Tokens: 300, Breakpoint: i >= len(blocks)-2}
	}
	cache := &Cache{}
	for b.Loop() {
		cache.Account(0, "m", blocks)
	}
}

// Above a cliff, all tokens of the request cost more.
func TestBilledTokens(t *testing.T) {
	cliff := route.Cliff{Above: 99, Factor: 5}
	for _, c := range []struct{ used, want Tokens }{
		{Tokens{Fresh: 1, Write: 8, Read: 90, Output: 7}, Tokens{Fresh: 1, Write: 8, Read: 90, Output: 7}}, // the answer is not a part of the prompt
		{Tokens{Fresh: 1, Write: 9, Read: 90, Output: 7}, Tokens{Fresh: 5, Write: 45, Read: 450, Output: 35}},
	} {
		if got := c.used.Billed(cliff); got != c.want {
			t.Errorf("%+v is billed as %+v, want %+v", c.used, got, c.want)
		}
		if got := c.used.Billed(route.Cliff{}); got != c.used {
			t.Errorf("without a cliff, %+v is billed as %+v", c.used, got)
		}
	}
}
