package host

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A chat is a session with one model, whose provider reports its cache reads.
type chat struct {
	*harness
	model schema.Model
	turns int
}

func newChat(t testing.TB, provider, id, npm string) *chat {
	c := &chat{harness: newHarness(t), model: schema.Model{Provider: provider, ID: id}}
	c.limits.NPM = npm
	return c
}

// rest is the size of tools and system prompt.
const rest = 10_000

// Each turn adds about `body` tokens, by the host's count.
const body = 2_000

// `reads` is the share of the messages that the provider read from its cache.
type reads float64

const (
	all     reads = 1
	nothing reads = -1 // the provider did not even read the part before the messages
)

func (c *chat) turn(r reads) schema.WireMutation {
	c.t.Helper()
	m := c.ask()
	c.answer(r, true)
	return m
}

func (c *chat) ask() schema.WireMutation {
	c.t.Helper()
	c.turns++
	c.add(`{"info":{"id":"u%[1]d","sessionID":"ses_1","role":"user","time":{"created":%[2]d},"model":{"providerID":%[3]q,"modelID":%[4]q}},"parts":[{"id":"pu%[1]d","type":"text","text":"go on"}]}`,
		c.turns, c.clock.Now(), c.model.Provider, c.model.ID)
	return c.pass()
}

// If told is true, an event also reports the answer.
func (c *chat) answer(r reads, told bool) {
	c.t.Helper()
	before := (c.turns - 1) * body // the messages of the previous request
	read := 0
	if r >= 0 {
		read = rest + int(float64(before)*float64(r))
	}
	written := rest + before + 10 - read
	info := fmt.Sprintf(`{"id":"a%d","sessionID":"ses_1","role":"assistant","time":{"created":%d,"completed":%[2]d},"providerID":%q,"modelID":%q,"finish":"stop",`+
		`"tokens":{"input":0,"output":1,"cache":{"read":%d,"write":%d}}}`, c.turns, c.clock.Now(), c.model.Provider, c.model.ID, read, written)
	if told {
		c.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":%s}}`, info)
	}
	c.messages = append(c.messages, json.Value(fmt.Sprintf(`{"info":%s,"parts":[{"id":"pa%d","type":"text","text":%q}]}`, info, c.turns, strings.Repeat("word ", body))))
}

func (c *chat) wait(d time.Duration) { c.clock.Advance(d) }

func (c *chat) wantLife(life time.Duration, reason string) {
	c.t.Helper()
	st := c.sessionStatus()
	if got := time.Duration(st.CacheLifeMS) * time.Millisecond; got != life || st.CacheLifeReason != reason {
		c.t.Errorf("cache life %v (%s), want %v (%s)", got, st.CacheLifeReason, life, reason)
	}
}

// OpenAI keeps an idle prefix for at least ten minutes, so the host must not bust the prefix after five minutes.
func TestIdleTimeDependsOnTheRoute(t *testing.T) {
	for _, test := range []struct {
		name, provider, model, npm string
		pause                      time.Duration
		want                       schema.Verdict
	}{
		{"an OpenAI session after 6 minutes", "openai", "gpt-5.2", "@ai-sdk/openai", 6 * time.Minute, schema.Steady},
		{"an OpenAI session after 11 minutes", "openai", "gpt-5.2", "@ai-sdk/openai", 11 * time.Minute, schema.Hard},
		{"GPT-5.6 after 29 minutes", "openai", "gpt-5.6", "@ai-sdk/openai", 29 * time.Minute, schema.Steady},
		{"GPT-5.6 after 31 minutes", "openai", "gpt-5.6", "@ai-sdk/openai", 31 * time.Minute, schema.Hard},
		{"an Anthropic session after 6 minutes", "anthropic", "claude-sonnet-4-5", "@ai-sdk/anthropic", 6 * time.Minute, schema.Hard},
		{"Claude behind a gateway after 6 minutes", "openrouter", "anthropic/claude-sonnet-4.5", "@openrouter/ai-sdk-provider", 6 * time.Minute, schema.Hard},
		{"a local model after 6 minutes", "lmstudio", "qwen3-coder", "@ai-sdk/openai-compatible", 6 * time.Minute, schema.Steady},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newChat(t, test.provider, test.model, test.npm)
			c.turn(nothing)
			c.wait(test.pause)
			if m := c.ask(); m.Verdict != test.want {
				t.Errorf("verdict %s (%s), want %s", m.Verdict, m.Cause, test.want)
			}
		})
	}
}

func TestOneHourBreakpoints(t *testing.T) {
	t.Run("configured", func(t *testing.T) {
		c := newChat(t, "anthropic", "claude-sonnet-4-5", "@ai-sdk/anthropic")
		c.config.CacheTTL = map[string]string{"default": "auto", "anthropic/claude-sonnet-4-5": "1h"}
		c.restart() // the configuration is read when a client connects
		c.turn(nothing)
		c.wait(6 * time.Minute)
		if m := c.ask(); m.Verdict != schema.Steady {
			t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
		}
		c.wantLife(time.Hour, "configured")
		if got := c.sessionStatus().CacheRoute; got != "anthropic-1h" {
			t.Errorf("route %s", got)
		}
	})
	t.Run("learned", func(t *testing.T) {
		c := newChat(t, "anthropic", "claude-sonnet-4-5", "@ai-sdk/anthropic")
		c.turn(nothing)
		c.turn(all)
		c.wantLife(5*time.Minute, "Anthropic's default")
		c.wait(12 * time.Minute)
		if m := c.turn(all); m.Verdict != schema.Hard { // the host cannot know of the longer life yet
			t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
		}
		c.wantLife(12*time.Minute, "learned: a prefix was read after 12 min")
		c.restart()
		c.wantLife(12*time.Minute, "learned: a prefix was read after 12 min")
		c.wait(11 * time.Minute)
		if m := c.turn(all); m.Verdict != schema.Steady {
			t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
		}
	})
}

func TestAReadAfterTheEndOfLifeProvesALongerOne(t *testing.T) {
	for _, told := range []bool{true, false} { // the event may be lost
		t.Run(fmt.Sprintf("event %t", told), func(t *testing.T) {
			c := newChat(t, "openai", "gpt-5.2", "@ai-sdk/openai")
			c.turn(nothing)
			c.turn(all)
			c.wait(40 * time.Minute)
			c.ask()
			c.answer(all, told)
			c.ask()
			c.wantLife(40*time.Minute, "learned: a prefix was read after 40 min")
		})
	}
}

// A pass busts a prefix because it assumes that the prefix has expired. The request still contains the messages before
// the first change. If the provider reads these from its cache, the prefix was still alive, and the assumed life was
// too short.
func TestABustStillProvesALongerLife(t *testing.T) {
	c := newChat(t, "openai", "gpt-5.2", "@ai-sdk/openai")
	c.turn(nothing)
	for range 4 {
		c.turn(all)
	}
	c.drop("call-1", fmt.Sprint(2*c.turns-2)) // the tag of the answer before the last
	c.wait(40 * time.Minute)
	if m := c.ask(); m.Verdict != schema.Hard || !c.journal()[len(c.journal())-1].Bust {
		t.Fatalf("verdict %s (%s), no bust", m.Verdict, m.Cause)
	}
	c.answer(reads(3.0/5), true)
	c.wantLife(40*time.Minute, "learned: a prefix was read after 40 min")
}

// Other sessions may keep the same system prompt in the provider's cache. So a cache read of the system prompt proves
// nothing about this session's messages.
func TestReadingTheSystemPromptProvesNoLife(t *testing.T) {
	c := newChat(t, "openai", "gpt-5.2", "@ai-sdk/openai")
	c.turn(nothing)
	c.turn(all)
	c.wait(40 * time.Minute)
	c.turn(0)
	c.wantLife(10*time.Minute, "OpenAI's default before GPT-5.6")
}

func TestThreeMissesBeforeTheEndOfLifeProveAShorterOne(t *testing.T) {
	c := newChat(t, "openai", "gpt-5.2", "@ai-sdk/openai")
	c.turn(nothing)
	c.turn(all)
	for i, r := range []reads{0, nothing, 0} {
		c.wantLife(10*time.Minute, "OpenAI's default before GPT-5.6")
		c.wait(4 * time.Minute)
		if m := c.turn(r); m.Verdict != schema.Steady {
			t.Fatalf("pass %d: %s (%s)", i, m.Verdict, m.Cause)
		}
		if i == 1 {
			c.restart() // the misses survive a restart
			c.turn(all)
		} else {
			c.turn(all)
		}
	}
	c.wantLife(4*time.Minute, "learned: prefixes were gone after 4 min")
	c.wait(4*time.Minute + time.Second)
	if m := c.turn(0); m.Verdict != schema.Hard {
		t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
	}
}

// A cache miss need not mean that the prefix was too old. It may also come from our own bust or from a changed system
// prompt. So one miss must not change the cache life.
func TestMissesThatProveNothing(t *testing.T) {
	const openai = "OpenAI's default before GPT-5.6"
	start := func(t *testing.T) *chat {
		c := newChat(t, "openai", "gpt-5.2", "@ai-sdk/openai")
		c.turn(nothing)
		c.turn(all)
		return c
	}
	t.Run("odd ones between reads", func(t *testing.T) {
		c := start(t)
		for range 6 {
			c.wait(4 * time.Minute)
			c.turn(0)
			c.wait(4 * time.Minute)
			c.turn(all)
		}
		c.wantLife(10*time.Minute, openai)
	})
	t.Run("within seconds", func(t *testing.T) {
		c := start(t)
		for range 6 {
			c.wait(20 * time.Second)
			c.turn(nothing)
			c.turn(all)
		}
		c.wantLife(10*time.Minute, openai)
	})
	t.Run("another system prompt", func(t *testing.T) {
		c := start(t)
		c.harness.ask("You are helpful.")
		for i := range 6 {
			c.wait(4 * time.Minute)
			c.ask()
			c.harness.ask(fmt.Sprintf("You are helpful, by version %d.", i))
			c.answer(nothing, true)
			c.turn(all)
		}
		c.wantLife(10*time.Minute, openai)
	})
	t.Run("a flush", func(t *testing.T) {
		c := start(t)
		for i := range 4 {
			c.wait(4 * time.Minute)
			c.drop(fmt.Sprintf("call-%d", i), fmt.Sprint(2*i+1))
			c.flush()
			if c.turn(0); !c.journal()[len(c.journal())-1].Bust {
				t.Fatal("no bust")
			}
			c.turn(all)
		}
		c.wantLife(10*time.Minute, openai)
	})
	t.Run("a provider that reports no cache", func(t *testing.T) {
		c := newChat(t, "openai", "gpt-5.2", "@ai-sdk/openai")
		for range 6 {
			c.ask()
			c.add(`{"info":{"id":"a%d","sessionID":"ses_1","role":"assistant","time":{"created":%d,"completed":%[2]d},"providerID":"openai","modelID":"gpt-5.2","finish":"stop",`+
				`"tokens":{"input":%[3]d,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"pa%[1]d","type":"text","text":%[4]q}]}`,
				c.turns, c.clock.Now(), rest+c.turns*body, strings.Repeat("word ", body))
			c.wait(4 * time.Minute)
		}
		c.wantLife(10*time.Minute, openai)
	})
}

func TestLearnedLifeBelongsToOneModel(t *testing.T) {
	c := newChat(t, "openai", "gpt-5.2", "@ai-sdk/openai")
	c.turn(nothing)
	c.turn(all)
	c.wait(40 * time.Minute)
	c.turn(all)
	c.wantLife(40*time.Minute, "learned: a prefix was read after 40 min")
	c.model.ID = "gpt-5.1"
	c.turn(nothing)
	c.wantLife(10*time.Minute, "OpenAI's default before GPT-5.6")
	c.wait(6 * time.Minute)
	c.model.ID = "gpt-5.2" // a switch of models proves nothing either
	c.turn(all)
	c.wantLife(40*time.Minute, "learned: a prefix was read after 40 min")
}

// A harness may itself keep idle prefixes in the provider's cache, and reports that at its start. If a prefix is then
// still cached after a long pause, this says nothing about the provider's own cache life.
func TestHarnessKeepsThePrefixWarm(t *testing.T) {
	c := newChat(t, "anthropic", "claude-sonnet-4-5", "@ai-sdk/anthropic")
	p := schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: "/p", KeptWarmSeconds: 30 * 60}
	if _, err := c.host.Initialize(context.Background(), c.harness, p); err != nil {
		t.Fatal(err)
	}
	c.turn(nothing)
	c.turn(all)
	c.wait(25 * time.Minute)
	if m := c.turn(all); m.Verdict != schema.Steady {
		t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
	}
	c.wantLife(30*time.Minute, "the harness keeps it warm")
	c.wait(40 * time.Minute)
	if m := c.turn(all); m.Verdict != schema.Hard {
		t.Errorf("verdict %s (%s)", m.Verdict, m.Cause)
	}
	c.restart() // this client connects without keeping prefixes
	c.wantLife(5*time.Minute, "Anthropic's default")
}
