package pipeline_test

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// The first pass shows the model the tag of each unit. The model then asks to drop the tool output with the tag 2, and
// the user asks for a bust. The second pass drops the output.
func Example() {
	messages := []json.Value{
		json.Value(`{"info":{"id":"u1","role":"user"},"parts":[{"id":"p1","type":"text","text":"What is in notes.txt?"}]}`),
		json.Value(`{"info":{"id":"a1","role":"assistant"},"parts":[{"id":"p2","type":"tool","callID":"c1","tool":"read","state":{"status":"completed","input":{},"output":"Buy milk."}}]}`),
		json.Value(`{"info":{"id":"u2","role":"user"},"parts":[{"id":"p3","type":"text","text":"Thanks."}]}`),
	}
	codec := transcript.OpenCode{}
	s := pipeline.NewSession(pipeline.Config{
		Options:   render.Options{Codec: codec, Prefixes: true},
		CountText: func(text string) int { return len(text) / pipeline.BytesPerToken },
	}, pipeline.Meta{}, frozen.NewState(0, nil, nil, nil))
	patches := map[string]schema.Patch{} // by message, as the client holds them

	pass := func(r pipeline.Readings) {
		d := s.Decide(r)
		w := s.Render(d)
		s.Commit(d, w, s.After(d, w, r.Now)) // the host stores the pass first
		changed, _ := s.Mutation()
		for key, p := range changed {
			patches[key] = p
		}
		fmt.Printf("%s (%s)\n", d.Verdict, d.Cause)
		for _, raw := range messages {
			m := codec.Decode(raw)
			sent, err := render.Apply(raw, patches[m.Key])
			if err != nil {
				fmt.Println(err)
				return
			}
			m = codec.Decode(sent)
			for _, b := range render.WireMessageOf(&m).Blocks {
				fmt.Printf("  %s %s: %s\n", m.Role, b.Kind, b.Name+b.Text)
			}
		}
	}

	readings := pipeline.Readings{Profile: "anthropic", LimitTokens: 200_000, Threshold: 65, Knobs: rule.Knobs{ProtectedTags: 1}}
	s.Update(0, messages, "")
	pass(readings)

	s.State.Enqueue(frozen.QueuedDrop{Tag: 2, Key: s.State.ByTag(2).Key})
	readings.Flush = true
	s.Update(len(messages), nil, "")
	pass(readings)

	// Output:
	// hard (first-pass)
	//   user text: §1§ What is in notes.txt?
	//   assistant call: read
	//   assistant result: §2§ Buy milk.
	//   user text: §3§ Thanks.
	// soft (flush)
	//   user text: §1§ What is in notes.txt?
	//   assistant call: read
	//   assistant result: [dropped §2§]
	//   user text: §3§ Thanks.
}
