package route

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/schema"
)

func model(name string) schema.Model {
	provider, id, _ := strings.Cut(name, "/")
	return schema.Model{Provider: provider, ID: id}
}

func TestRouteOfAModel(t *testing.T) {
	for _, c := range []struct {
		model, npm, want string
		minTokens        int
		read             float64
	}{
		{"anthropic/claude-sonnet-4-5-20250929", "@ai-sdk/anthropic", "anthropic", 1024, 0.1},
		{"anthropic/claude-sonnet-4-20250514", "@ai-sdk/anthropic", "anthropic", 1024, 0.1}, // the date is not a minor version
		{"anthropic/claude-opus-5", "@ai-sdk/anthropic", "anthropic", 512, 0.1},
		{"anthropic/claude-opus-5", "anthropic-messages", "anthropic", 512, 0.1},
		{"gateway/m", "anthropic-messages", "anthropic", 1024, 0.1},
		{"aws/m", "bedrock-converse-stream", "bedrock", 1024, 0.1},
		{"gateway/m", "openai-codex-responses", "openai", 1024, 0.1},
		{"anthropic/claude-fable-5-1", "@ai-sdk/anthropic", "anthropic", 512, 0.1},
		{"anthropic/claude-opus-4-8", "@ai-sdk/anthropic", "anthropic", 1024, 0.1},
		{"anthropic/claude-sonnet-5", "@ai-sdk/anthropic", "anthropic", 1024, 0.1},
		{"anthropic/claude-opus-4-7", "@ai-sdk/anthropic", "anthropic", 2048, 0.1},
		{"anthropic/claude-opus-4-6", "@ai-sdk/anthropic", "anthropic", 4096, 0.1},
		{"anthropic/claude-haiku-4-5", "@ai-sdk/anthropic", "anthropic", 4096, 0.1},
		{"anthropic/claude-3-5-haiku-20241022", "@ai-sdk/anthropic", "anthropic", 2048, 0.1},
		{"anthropic/m", "", "anthropic", 1024, 0.1}, // the provider's name decides before the harness has named the package
		{"mine/anything", "@ai-sdk/anthropic", "anthropic", 1024, 0.1},
		{"amazon-bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0", "@ai-sdk/amazon-bedrock", "bedrock", 4096, 0.1},
		{"amazon-bedrock/global.anthropic.claude-opus-4-7", "", "bedrock", 4096, 0.1},
		{"google-vertex-anthropic/claude-sonnet-4-5@20250929", "@ai-sdk/google-vertex/anthropic", "vertex", 1024, 0.1},
		{"openrouter/anthropic/claude-haiku-4.5", "@openrouter/ai-sdk-provider", "anthropic", 4096, 0.1},
		{"github-copilot/claude-sonnet-4.5", "@ai-sdk/github-copilot", "anthropic", 1024, 0.1},
		{"litellm/claude-opus-4.7", "@ai-sdk/openai-compatible", "anthropic", 2048, 0.1},

		{"openai/gpt-5.2-codex", "@ai-sdk/openai", "openai", 1024, 0.1},
		{"openai/gpt-5", "@ai-sdk/openai", "openai", 1024, 0.1},
		{"openai/gpt-4.1-mini", "@ai-sdk/openai", "openai", 1024, 0.25},
		{"openai/gpt-4o", "@ai-sdk/openai", "openai", 1024, 0.5},
		{"openai/o3", "@ai-sdk/openai", "openai", 1024, 0.25},
		{"openai/chatgpt-4o-latest", "", "openai", 1024, 0.5},
		{"azure/my-deployment", "@ai-sdk/azure", "openai", 1024, 0.1},
		{"openrouter/openai/gpt-5.1", "@openrouter/ai-sdk-provider", "openai", 1024, 0.1},
		{"openai/gpt-5.6", "@ai-sdk/openai", "openai-5.6", 1024, 0.1},
		{"openai/gpt-5.6-sol-pro", "@ai-sdk/openai", "openai-5.6", 1024, 0.1},
		{"openai/gpt-5.10", "@ai-sdk/openai", "openai-5.6", 1024, 0.1},
		{"openrouter/openai/gpt-6", "@openrouter/ai-sdk-provider", "openai-5.6", 1024, 0.1},

		{"google/gemini-2.5-pro", "@ai-sdk/google", "google", 2048, 0.1},
		{"google-vertex/gemini-3-flash-preview", "@ai-sdk/google-vertex", "google", 4096, 0.1},
		{"openrouter/google/gemini-3.1-pro-preview", "@openrouter/ai-sdk-provider", "google", 4096, 0.1},

		{"lmstudio/openai/gpt-oss-120b", "@ai-sdk/openai-compatible", "unknown", 1024, 0.1},
		{"moonshotai/kimi-k2", "@ai-sdk/openai-compatible", "unknown", 1024, 0.1},
		{"/", "", "unknown", 1024, 0.1},
	} {
		got := Of(model(c.model), c.npm)
		if got.Name != c.want || got.MinTokens != c.minTokens || got.Read != c.read {
			t.Errorf("%s by %q: %s, at least %d tokens, reads at %v; want %s, %d, %v", c.model, c.npm, got.Name, got.MinTokens, got.Read, c.want, c.minTokens, c.read)
		}
	}
}

func TestCliffs(t *testing.T) {
	for _, c := range []struct {
		model  string
		prompt int
		want   float64
	}{
		{"openai/gpt-6", 272_000, 1},
		{"openai/gpt-6", 272_001, 2},
		{"openrouter/openai/gpt-6-mini", 900_000, 2},
		{"openai/gpt-6.1-codex", 900_000, 2},
		{"openai/gpt-5.6", 900_000, 1},
		{"openai/gpt-60", 900_000, 1},
		{"anthropic/claude-haiku-5-5", 100_000, 1},
		{"anthropic/claude-haiku-5-5-20260901", 100_001, 5},
		{"amazon-bedrock/global.anthropic.claude-haiku-5-5-v1:0", 100_001, 5},
		{"github-copilot/Claude-Haiku-5.5", 100_001, 5},
		{"anthropic/claude-haiku-5", 900_000, 1},
		{"anthropic/claude-haiku-4-5", 900_000, 1},
		{"anthropic/claude-sonnet-5-5", 900_000, 1},
		{"mine/anything", 900_000, 1},
	} {
		for _, r := range []Route{Of(model(c.model), ""), Of(model(c.model), "").Lasting(time.Hour)} {
			if got := r.Cliff.At(c.prompt); got != c.want {
				t.Errorf("%s on %s: a prompt of %d costs %v times its price, want %v", c.model, r.Name, c.prompt, got, c.want)
			}
		}
	}
}

// The rows contain the figures that docs/cache-routes.md gives for each route.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		name                        string
		life, longest               time.Duration
		write                       float64
		breakpoints, lookback, step int
	}{
		{"anthropic", 5 * time.Minute, time.Hour, 1.25, 4, 20, 0},
		{"anthropic-1h", time.Hour, time.Hour, 2, 4, 20, 0},
		{"bedrock", 5 * time.Minute, time.Hour, 1.25, 4, 20, 0},
		{"bedrock-1h", time.Hour, time.Hour, 2, 4, 20, 0},
		{"vertex", 5 * time.Minute, time.Hour, 1.25, 4, 20, 0},
		{"vertex-1h", time.Hour, time.Hour, 2, 4, 20, 0},
		{"openai", 10 * time.Minute, 24 * time.Hour, 1, 0, 0, 128},
		{"openai-5.6", 30 * time.Minute, 24 * time.Hour, 1.25, 0, 0, 128},
		{"google", 30 * time.Minute, 24 * time.Hour, 1, 0, 0, 0},
		{"unknown", 30 * time.Minute, 24 * time.Hour, 1.25, 0, 0, 0},
	} {
		r := Named(c.name)
		if r.Name != c.name || r.Life != c.life || r.Longest != c.longest || r.Write != c.write || r.Breakpoints != c.breakpoints || r.Lookback != c.lookback || r.Step != c.step {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// Every row is complete, and docs/cache-routes.md contains its figures.
func TestEveryRowHasItsSource(t *testing.T) {
	content, err := os.ReadFile("../../docs/cache-routes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range All() {
		if r.Title == "" || r.Source == "" || r.Shortest <= 0 || r.Life < r.Shortest || r.Longest < r.Life || r.Read <= 0 || r.Write < 1 || r.MinTokens <= 0 {
			t.Errorf("%s is incomplete: %+v", r.Name, r)
		}
		if !strings.Contains(string(content), "`"+r.Name+"`") || strings.HasPrefix(r.Source, "https:") && !strings.Contains(string(content), r.Source) {
			t.Errorf("docs/cache-routes.md does not tell of %s and its source %s", r.Name, r.Source)
		}
	}
}

func TestPriceOfTheRouteWhereTheCatalogueNamesNone(t *testing.T) {
	for _, c := range []struct {
		name, route string
		price, want schema.Price
	}{
		{"a catalogue with all", "anthropic", schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}, schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}},
		{"no price of writing, Anthropic", "anthropic", schema.Price{Fresh: 3, Read: 0.3}, schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}},
		{"no price of writing, OpenAI before the fee", "openai", schema.Price{Fresh: 1.25, Read: 0.125}, schema.Price{Fresh: 1.25, Write: 1.25, Read: 0.125}},
		{"no price of writing, OpenAI with the fee", "openai-5.6", schema.Price{Fresh: 2, Read: 0.2}, schema.Price{Fresh: 2, Write: 2.5, Read: 0.2}},
		{"no price of writing, unknown", "unknown", schema.Price{Fresh: 1.25, Read: 0.125}, schema.Price{Fresh: 1.25, Write: 1.25, Read: 0.125}},
		{"no price of reading", "anthropic", schema.Price{Fresh: 3, Write: 3.75}, schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}},
		{"only fresh", "google", schema.Price{Fresh: 2}, schema.Price{Fresh: 2, Write: 2, Read: 0.2}},
		{"nothing", "openai", schema.Price{}, schema.Price{Fresh: 1, Write: 1, Read: 0.1}},
		{"nothing, unknown", "unknown", schema.Price{}, schema.Price{Fresh: 1, Write: 1.25, Read: 0.1}},
		{"only writing", "anthropic", schema.Price{Write: 5}, schema.Price{Fresh: 4, Write: 5, Read: 0.4}},
		{"the catalogue quotes five minutes, the hour is dearer", "anthropic-1h", schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}, schema.Price{Fresh: 3, Write: 6, Read: 0.3}},
		{"one-hour cache without a price", "anthropic-1h", schema.Price{Fresh: 3}, schema.Price{Fresh: 3, Write: 6, Read: 0.3}},
		{"reading is free of charge in no catalogue", "openai", schema.Price{Fresh: 4, Write: 4, Read: 0, Output: 9}, schema.Price{Fresh: 4, Write: 4, Read: 0.4, Output: 9}},
	} {
		got := Named(c.route).Price(c.price)
		for _, pair := range [][2]float64{{got.Fresh, c.want.Fresh}, {got.Write, c.want.Write}, {got.Read, c.want.Read}, {got.Output, c.want.Output}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
				break
			}
		}
	}
}

func TestBelief(t *testing.T) {
	hour, zero := time.Hour, time.Duration(0)
	for _, c := range []struct {
		name, route string
		configured  *time.Duration
		learned     Learned
		warm        time.Duration
		life        time.Duration
		by, reason  string
	}{
		{"Anthropic's default", "anthropic", nil, Learned{}, 0, 5 * time.Minute, "anthropic", "Anthropic's default"},
		{"OpenAI", "openai", nil, Learned{}, 0, 10 * time.Minute, "openai", "OpenAI's default before GPT-5.6"},
		{"configured", "anthropic", &hour, Learned{Life: 12 * time.Minute}, 30 * time.Minute, time.Hour, "anthropic-1h", "configured"},
		{"configured to nothing", "openai", &zero, Learned{Life: 12 * time.Minute}, 0, 0, "openai", "configured"},
		{"a read", "anthropic", nil, Learned{Life: 12*time.Minute + 3*time.Second}, 0, 12*time.Minute + 3*time.Second, "anthropic-1h", "learned: a prefix was read after 12 min"},
		{"misses", "anthropic", nil, Learned{Life: 3 * time.Minute, Missed: true}, 0, 3 * time.Minute, "anthropic", "learned: prefixes were gone after 3 min"},
		{"kept warm", "anthropic", nil, Learned{}, 30 * time.Minute, 30 * time.Minute, "anthropic", "the harness keeps it warm"},
		{"kept warm for less than it lives", "openai-5.6", nil, Learned{}, 5 * time.Minute, 30 * time.Minute, "openai-5.6", "OpenAI's default since GPT-5.6"},
		{"learned beyond what is documented", "bedrock", nil, Learned{Life: 50 * time.Hour}, 0, time.Hour, "bedrock-1h", "learned: a prefix was read after 1 h"},
		{"learned below what is sensible", "openai", nil, Learned{Life: time.Second, Missed: true}, 0, time.Minute, "openai", "learned: prefixes were gone after 1 min"},
	} {
		got := Named(c.route).Believe(c.configured, c.learned, c.warm)
		if got.Life != c.life || got.Route.Name != c.by || got.Reason() != c.reason {
			t.Errorf("%s: %v by %s (%s), want %v by %s (%s)", c.name, got.Life, got.Route.Name, got.Reason(), c.life, c.by, c.reason)
		}
	}
}

type seen struct {
	read  bool
	pause time.Duration
}

func (l Learned) after(r Route, all ...seen) Learned {
	for i, s := range all {
		if s.read {
			l = l.Read(r, s.pause, int64(i+1))
		} else {
			l = l.Miss(r, s.pause, int64(i+1))
		}
	}
	return l
}

func TestUsageCorrectsALife(t *testing.T) {
	const min = time.Minute
	read := func(m time.Duration) seen { return seen{true, m * min} }
	miss := func(m time.Duration) seen { return seen{false, m * min} }
	for _, c := range []struct {
		name, route string
		seen        []seen
		want        time.Duration
	}{
		{"nothing", "anthropic", nil, 5 * min},
		{"a read within the life says nothing new", "anthropic", []seen{read(4)}, 5 * min},
		{"one read after its end proves a longer one", "anthropic", []seen{read(12)}, 12 * min},
		{"the longest read counts", "anthropic", []seen{read(12), read(20), read(7)}, 20 * min},
		{"up to what is documented", "anthropic", []seen{read(300)}, 60 * min},
		{"which is a day for others", "openai", []seen{read(300), read(3000)}, 24 * 60 * min},
		{"one miss proves nothing", "openai", []seen{miss(6)}, 10 * min},
		{"nor do two", "openai", []seen{miss(6), miss(4)}, 10 * min},
		{"three prove what all of them show", "openai", []seen{miss(6), miss(4), miss(5)}, 6 * min},
		{"three more shorten it again", "openai", []seen{miss(6), miss(4), miss(5), miss(4), miss(3), miss(3)}, 4 * min},
		{"a read in between contradicts shorter misses", "openai", []seen{miss(6), miss(4), read(5), miss(6)}, 10 * min},
		{"a shorter read does not", "openai", []seen{miss(6), miss(6), read(1), miss(6)}, 6 * min},
		{"a miss after the end of life is no news", "anthropic", []seen{miss(5), miss(6), miss(60), miss(7)}, 5 * min},
		{"a miss within seconds has other causes", "openai", []seen{{false, 59 * time.Second}, {false, time.Second}, {false, 0}}, 10 * min},
		{"a learned life is taken back", "anthropic", []seen{read(40), miss(9), miss(8), miss(10)}, 10 * min},
		{"and comes back with a read", "openai", []seen{miss(3), miss(3), miss(3), read(8)}, 8 * min},
	} {
		r := Named(c.route)
		if got := r.learned(Learned{}.after(r, c.seen...)).Life; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A learned cache life stays within its bounds. A single miss never changes it. Only three misses in a row shorten it,
// by one step. A read never shortens it.
func TestLearnedLifeKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(All()).Draw(t, "route")
		pause := rapid.OneOf(
			rapid.Int64Range(0, int64(2*time.Hour)), rapid.Int64Range(-int64(time.Hour), int64(100*24*time.Hour)),
			rapid.SampledFrom([]int64{0, int64(time.Minute), int64(r.Life), int64(r.Longest), math.MaxInt64, math.MinInt64}),
		)
		var l Learned
		misses := 0
		for i := range rapid.IntRange(0, 40).Draw(t, "observations") {
			before := r.learned(l).Life
			gap := time.Duration(pause.Draw(t, "pause"))
			if rapid.Bool().Draw(t, "read") {
				l = l.Read(r, gap, int64(i))
				misses = l.Misses
				if life := r.learned(l).Life; life < before || gap > before && life != min(gap, r.Longest) {
					t.Fatalf("%s: a read after %v made %v of %v", r.Name, gap, life, before)
				}
			} else {
				l = l.Miss(r, gap, int64(i))
				life := r.learned(l).Life
				if life > before || life < before && misses != missesToShorten-1 {
					t.Fatalf("%s: miss %d, after %v, made %v of %v", r.Name, misses+1, gap, life, before)
				}
				misses = l.Misses
			}
			if life := r.learned(l).Life; life < r.Shortest || life > r.Longest {
				t.Fatalf("%s: a life of %v is outside of %v to %v", r.Name, life, r.Shortest, r.Longest)
			}
		}
	})
}
