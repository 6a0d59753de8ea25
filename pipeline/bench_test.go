package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func longSession(n int) []json.Value {
	line := "  const value = compute(12, 34, 56)\\n"
	output := strings.Repeat(line, 3500/len(line))
	messages := make([]json.Value, n)
	for i := range messages {
		if i%10 == 0 {
			messages[i] = json.Value(fmt.Sprintf(`{"info":{"id":"m%d","role":"user","time":{"created":1},"model":{"providerID":"p","modelID":"m"}},"parts":[{"id":"p%d","type":"text","text":"Question %d"}]}`, i, i, i))
			continue
		}
		messages[i] = json.Value(fmt.Sprintf(`{"info":{"id":"m%d","role":"assistant","time":{"created":1,"completed":1},"providerID":"p","modelID":"m","finish":"tool-calls"},"parts":[`+
			`{"id":"s%d","type":"step-start"},{"id":"r%d","type":"reasoning","text":"I think that","metadata":{"anthropic":{"signature":"abc"}}},`+
			`{"id":"t%d","type":"tool","callID":"c%d","tool":"read","state":{"status":"completed","input":{"filePath":"/a/%d"},"output":"%d %s"}}]}`, i, i, i, i, i, i, i, output))
	}
	return messages
}

func benchSession(state *frozen.State) *Session {
	return NewSession(Config{Options: render.Options{Codec: transcript.OpenCode{}, Prefixes: true}, CountText: tokens.Count, CountFile: tokens.Image}, Meta{}, state)
}

func BenchmarkResync(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			messages := longSession(n)
			known := benchSession(frozen.NewState(0, nil, nil, nil))
			known.Update(0, messages, "")
			for b.Loop() {
				s := benchSession(known.State)
				s.Update(0, messages, "")
				s.Render(Decision{}.Steady(CauseNone))
				s.Mutation()
			}
		})
	}
}

func BenchmarkSteady(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			messages := longSession(n + 1)
			s := benchSession(frozen.NewState(0, nil, nil, nil))
			s.Update(0, messages, "")
			s.Render(Decision{}.Steady(CauseNone))
			s.Mutation()
			for b.Loop() {
				s.Update(n, messages[n:], "")
				s.Render(Decision{}.Steady(CauseNone))
				s.Mutation()
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := benchSession(frozen.NewState(0, nil, nil, nil))
			s.Update(0, longSession(n), "")
			r := Readings{Overflow: true, LimitTokens: 200_000, Threshold: 65, Profile: "anthropic", Knobs: rule.Knobs{ProtectedTags: 20, ReasoningAge: 50}}
			for b.Loop() {
				if d := s.Decide(r); len(d.Edits) == 0 {
					b.Fatal("no edits")
				}
			}
		})
	}
}
