package transcript_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func decodeOpenCode2(raw string) transcript.Message {
	return transcript.OpenCode2{}.Decode(json.Value(raw))
}

func TestOpenCode2Parts(t *testing.T) {
	const at = "/message/content/0"
	other := func(raw string) transcript.Part { return transcript.Part{Raw: json.Value(raw)} }
	for _, c := range []struct {
		name, part string
		want       transcript.Part
	}{
		{"text", `{"type":"text","text":"hi"}`, transcript.Part{Kind: transcript.Text, Text: "hi", TextPath: at + "/text"}},
		{"blank text", `{"type":"text","text":" "}`, transcript.Part{Kind: transcript.Text, Text: " ", TextPath: at + "/text", Hidden: true}},
		{"reasoning", `{"type":"reasoning","text":"hm"}`, transcript.Part{Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/text"}},
		{"signed reasoning", `{"type":"reasoning","text":"hm","providerMetadata":{"anthropic":{"signature":"s"}}}`, transcript.Part{Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/text", Signature: json.Value(`{"anthropic":{"signature":"s"}}`)}},
		{"encrypted reasoning", `{"type":"reasoning","text":"","encrypted":"e"}`, transcript.Part{Kind: transcript.Reasoning, TextPath: at + "/text", Signature: json.Value(`"e"`)}},
		{"call", `{"type":"tool-call","id":"c","name":"read","input":{"b":1}}`, transcript.Part{Kind: transcript.Tool, Name: "read", CallID: "c", Input: json.Value(`{"b":1}`), InputPath: at + "/input"}},
		{"a call that the provider runs", `{"type":"tool-call","id":"c","name":"search","input":{},"providerExecuted":true}`, other(`{"type":"tool-call","id":"c","name":"search","input":{},"providerExecuted":true}`)},
		{"its result", `{"type":"tool-result","id":"c","name":"search","result":{"type":"json","value":1}}`, other(`{"type":"tool-result","id":"c","name":"search","result":{"type":"json","value":1}}`)},
		{"image", `{"type":"media","media":{"mediaType":"image/png"},"filename":"a.png"}`, transcript.Part{Kind: transcript.File, Mime: "image/png", URL: "data:image/png;base64,AA"}},
		{"image of a beta", `{"type":"media","mediaType":"image/png"}`, transcript.Part{Kind: transcript.File, Mime: "image/png", URL: "data:image/png;base64,AA"}},
		{"checkpoint of a provider", `{"type":"compaction","provider":"openai","encrypted":"x"}`, other(`{"type":"compaction","provider":"openai","encrypted":"x"}`)},
		{"a kind of tomorrow", `{"type":"hologram"}`, other(`{"type":"hologram"}`)},
		{"null", `null`, other(`null`)},
	} {
		c.want.Path = at
		got := decodeOpenCode2(`{"id":"k","info":{"media":{"` + at + `":"data:image/png;base64,AA"}},"message":{"id":"k","role":"assistant","content":[` + c.part + `]}}`).Parts[0]
		if diff := cmp.Diff(c.want, got, ignoreOrigin); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// The second column is the result after ResultText("x").
func TestOpenCode2Results(t *testing.T) {
	call := transcript.Part{Kind: transcript.Tool, Path: "/message/content/0", Name: "read", CallID: "c", Input: json.Value(`{}`), InputPath: "/message/content/0/input"}
	const value = "/results/0/content/0/result/value"
	for _, c := range []struct {
		name, result, replaced string
		want                   func(*transcript.Part)
	}{
		{"text", `{"type":"text","value":"out"}`, `{"type":"text","value":"x"}`, func(p *transcript.Part) { p.Text, p.TextPath = "out", value }},
		{"JSON", `{"type":"json","value":{"a":1}}`, `{"type":"text","value":"x"}`, func(p *transcript.Part) { p.Text = `{"a":1}` }},
		{"texts and a file", `{"type":"content","value":[{"type":"text","text":"a"},{"type":"file","mime":"image/png"},{"type":"text","text":"b"}]}`, `{"type":"text","value":"x"}`, func(p *transcript.Part) {
			p.Text, p.TextPath, p.Attachments = "a\nb", value+"/0/text", json.Value(`[{"type":"file","mime":"image/png"}]`)
		}},
		{"failure", `{"type":"error","value":{"error":{"type":"tool.execution","message":"no"},"content":[]}}`, `{"type":"error","value":{"error":{"type":"tool.execution","message":"x"},"content":[]}}`, func(p *transcript.Part) {
			p.Text, p.TextPath, p.IsError = "no", value+"/error/message", true
		}},
		{"failure with an output", `{"type":"error","value":{"error":{"message":"no"},"content":[{"type":"text","text":"half"}]}}`, `{"type":"error","value":{"error":{"message":"x"},"content":[]}}`, func(p *transcript.Part) {
			p.Text, p.TextPath, p.IsError, p.Attachments = "no", value+"/error/message", true, json.Value(`[{"type":"text","text":"half"}]`)
		}},
		{"failure in another form", `{"type":"error","value":"no"}`, `{"type":"error","value":"x"}`, func(p *transcript.Part) { p.Text, p.TextPath, p.IsError = "no", value, true }},
	} {
		want := call
		want.ResultPath = "/results/0"
		c.want(&want)
		step := func(result string) string {
			return `{"id":"k","message":{"id":"k","role":"assistant","content":[{"type":"tool-call","id":"c","name":"read","input":{}}]},"results":[{"role":"tool","content":[{"type":"tool-result","id":"c","name":"read","result":` + result + `}]}]}`
		}
		m := decodeOpenCode2(step(c.result))
		if diff := cmp.Diff([]transcript.Part{want}, m.Parts, ignoreOrigin); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		got, err := render.Apply(json.Value(step(c.result)), transcript.OpenCode2{}.ResultText(m.Parts[0], "x"))
		if err != nil || string(got) != step(c.replaced) {
			t.Errorf("%s: the replaced result is %s, %v", c.name, got, err)
		}
	}
	for _, unread := range []string{`{"type":"hologram","value":1}`, `{"type":"content","value":5}`, `7`} {
		m := decodeOpenCode2(`{"id":"k","message":{"id":"k","role":"assistant","content":[{"type":"tool-call","id":"c","name":"read"}]},"results":[{"content":[{"type":"tool-result","id":"c","result":` + unread + `}]}]}`)
		if m.Parts[0].HasResult() || m.Parts[1].Path != "/results/0" {
			t.Errorf("%s is a result: %+v", unread, m.Parts)
		}
	}
}

func TestOpenCode2Messages(t *testing.T) {
	// The harness derives the key of this message from the key of the message before it. In a fork, the message has a
	// different key but the same content. So the part must hold the message without its key.
	other := func(raw string) []transcript.Part {
		_, message, _ := strings.Cut(strings.TrimSuffix(raw, "}"), `"message":`)
		return []transcript.Part{{Path: "/message", Raw: json.Value(message)}}
	}
	const update = `{"id":"system-after-m","message":{"role":"system","content":[{"type":"text","text":"The date is now 5."}]}}`
	const effort = `{"id":"system-after-m","message":{"role":"system","content":[{"type":"effort","effort":"high"}]}}`
	const orphan = `{"id":"tool-c","message":{"role":"tool","content":[{"type":"tool-result","id":"c"}]}}`
	const plugins = `{"id":"user-after-m","message":{"role":"user","content":[{"type":"text","text":"plan"}]}}`
	const limit = `{"id":"assistant-after-m","message":{"role":"assistant","content":[{"type":"text","text":"Use no more tools."}]}}`
	hi := []transcript.Part{{Kind: transcript.Text, Path: "/message/content/0", Text: "hi", TextPath: "/message/content/0/text"}}
	for _, c := range []struct {
		name, raw string
		want      transcript.Message
	}{
		{"prompt", `{"id":"m","info":{"type":"user","created":7,"agent":"build"},"message":{"id":"m","role":"user","content":[{"type":"text","text":"hi"}]}}`, transcript.Message{Key: "m", Role: user, Created: 7, Agent: "build", Parts: hi}},
		{"checkpoint", `{"id":"m","info":{"type":"compaction","created":7},"message":{"id":"m","role":"user","content":[{"type":"text","text":"hi"}]}}`, transcript.Message{Key: "m", Role: user, Created: 7, Summary: true, Parts: hi}},
		{"answer", `{"id":"m","info":{"type":"assistant","created":7,"completed":9,"providerID":"p","modelID":"q","finish":"tool-calls","tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}},"message":{"id":"m","role":"assistant","content":[{"type":"text","text":"hi"}]}}`, transcript.Message{
			Key: "m", Role: transcript.Assistant, Created: 7, Completed: 9, Model: schema.Model{Provider: "p", ID: "q"}, Finish: transcript.EndsWithCalls,
			Usage: transcript.Usage{Input: 1, Output: 2 + 3, CacheRead: 4, CacheWrite: 5}, Parts: hi,
		}},
		{"failed answer", `{"id":"m","info":{"type":"assistant","error":{"type":"aborted"}},"message":{"id":"m","role":"assistant","content":[{"type":"text","text":"hi"}]}}`, transcript.Message{Key: "m", Role: transcript.Assistant, Errored: true, Parts: hi}},
		{"system update", update, transcript.Message{Key: "system-after-m", Role: user, Stays: true, Nameless: true, Parts: other(update)}},
		{"effort", effort, transcript.Message{Key: "system-after-m", Role: user, Stays: true, Nameless: true, Parts: other(effort)}},
		{"result without a call", orphan, transcript.Message{Key: "tool-c", Role: user, Nameless: true, Parts: other(orphan)}},
		{"message of another plugin", plugins, transcript.Message{Key: "user-after-m", Role: user, Nameless: true, Parts: other(plugins)}},
		{"OpenCode's own words at the step limit", limit, transcript.Message{Key: "assistant-after-m", Role: user, Nameless: true, Parts: other(limit)}},
		{"removed", `{"id":"m","info":{}}`, transcript.Message{Key: "m"}},
	} {
		if diff := cmp.Diff(c.want, decodeOpenCode2(c.raw), ignoreOrigin); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if m := decodeOpenCode2(`5`); m.Key != "" || len(m.Parts) != 1 {
		t.Errorf("a message that is no object: %+v", m)
	}
}

func TestOpenCode2Events(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      transcript.Event
	}{
		{"title", `{"type":"session.renamed","session":"s","title":"T"}`, transcript.Event{Kind: transcript.SessionTitled, Session: "s", Title: "T"}},
		{"compaction", `{"type":"session.compaction.ended","session":"s"}`, transcript.Event{Kind: transcript.SessionCompacted, Session: "s"}},
		{"deletion", `{"type":"session.deleted","session":"s"}`, transcript.Event{Kind: transcript.SessionDeleted, Session: "s"}},
		{"usage", `{"type":"session.step.ended","session":"s","id":"m","info":{"completed":9,"finish":"stop","tokens":{"input":5}}}`, transcript.Event{
			Kind: transcript.MessageChanged, Session: "s", Message: transcript.Message{Key: "m", Role: transcript.Assistant, Completed: 9, Finish: transcript.EndsTurn, Usage: transcript.Usage{Input: 5}},
		}},
		{"refusal", `{"type":"session.step.failed","session":"s","id":"m","info":{"error":{"type":"provider.invalid-request"}},"error":{"message":"prompt is too long"}}`, transcript.Event{
			Kind: transcript.MessageChanged, Session: "s", Message: transcript.Message{Key: "m", Role: transcript.Assistant, Errored: true}, Error: json.Value(`{"message":"prompt is too long"}`),
		}},
		{"another", `{"type":"session.tool.called","session":"s"}`, transcript.Event{Session: "s"}},
	} {
		got, err := transcript.OpenCode2{}.Event(json.Value(c.raw))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got):\n%s%v", c.name, diff, err)
		}
	}
	if _, err := (transcript.OpenCode2{}).Event(json.Value(`[`)); err == nil {
		t.Error("an event that is not JSON was read")
	}
}

func FuzzOpenCode2(f *testing.F) {
	f.Add([]byte(`{"id":"m","info":{"type":"user","typed":0},"message":{"id":"m","role":"user","content":[{"type":"text","text":"hi"},{"type":"media","media":{"mediaType":"image/png"}}]}}`))
	f.Add([]byte(`{"id":"m","message":{"id":"m","role":"assistant","content":[{"type":"tool-call","id":"c","name":"read","input":{}}]},"results":[{"content":[{"type":"tool-result","id":"c","result":{"type":"error","value":{"error":{"message":"no"}}}}]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		codec := transcript.OpenCode2{}
		m := codec.Decode(raw)
		if !jsontext.Value(raw).IsValid() {
			return
		}
		for _, p := range m.Parts {
			if p.TextPath != "" {
				if _, err := render.Apply(raw, schema.Patch{{Op: "prepend", Path: p.TextPath, Value: json.Value(`"x"`)}}); err != nil {
					t.Errorf("%s: %v", p.TextPath, err)
				}
			}
			if patch := codec.ResultText(p, "x"); p.Kind == transcript.Tool && patch != nil {
				if _, err := render.Apply(raw, patch); err != nil {
					t.Errorf("%v: %v", patch, err)
				}
			}
		}
	})
}
