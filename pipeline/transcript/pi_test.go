package transcript_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func decodePi(raw string) transcript.Message { return transcript.Pi{}.Decode(json.Value(raw)) }

func TestPiBlocks(t *testing.T) {
	const at = "/message/content/0"
	for _, c := range []struct {
		name, block string
		want        transcript.Part
	}{
		{"text", `{"type":"text","text":"hi"}`, transcript.Part{Kind: transcript.Text, Text: "hi", TextPath: at + "/text"}},
		{"signed text", `{"type":"text","text":"hi","textSignature":"s"}`, transcript.Part{Kind: transcript.Text, Text: "hi", TextPath: at + "/text"}},
		{"blank text", `{"type":"text","text":" \n"}`, transcript.Part{Kind: transcript.Text, Text: " \n", TextPath: at + "/text", Hidden: true}},
		{"thinking", `{"type":"thinking","thinking":"hm"}`, transcript.Part{Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/thinking"}},
		{"signed thinking", `{"type":"thinking","thinking":"hm","thinkingSignature":"s"}`, transcript.Part{Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/thinking", Signature: json.Value(`"s"`)}},
		{"signed thinking without text", `{"type":"thinking","thinking":"","thinkingSignature":"s"}`, transcript.Part{Kind: transcript.Reasoning, TextPath: at + "/thinking", Signature: json.Value(`"s"`)}},
		{"an empty signature proves nothing", `{"type":"thinking","thinking":"hm","thinkingSignature":""}`, transcript.Part{Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/thinking"}},
		{"blank thinking", `{"type":"thinking","thinking":" "}`, transcript.Part{Kind: transcript.Reasoning, Text: " ", TextPath: at + "/thinking", Hidden: true}},
		{"redacted thinking, whose text is Pi's", `{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"d","redacted":true}`, transcript.Part{Kind: transcript.Reasoning, Signature: json.Value(`"d"`)}},
		{"call", `{"type":"toolCall","id":"c","name":"read","arguments":{"b":1,"a":12345678901234567890}}`, transcript.Part{Kind: transcript.Tool, Name: "read", CallID: "c", Input: json.Value(`{"b":1,"a":12345678901234567890}`), InputPath: at + "/arguments"}},
		{"call without arguments", `{"type":"toolCall","id":"c","name":"read"}`, transcript.Part{Kind: transcript.Tool, Name: "read", CallID: "c", Input: json.Value(`{}`), InputPath: at + "/arguments"}},
		{"image", `{"type":"image","data":"AA","mimeType":"image/png"}`, transcript.Part{Kind: transcript.File, Mime: "image/png", URL: "data:image/png;base64,AA"}},
		{"a kind of tomorrow", `{"type":"hologram","text":"hi"}`, transcript.Part{Raw: json.Value(`{"type":"hologram","text":"hi"}`)}},
		{"a text that is no string", `{"type":"text","text":5}`, transcript.Part{Raw: json.Value(`{"type":"text","text":5}`)}},
		{"a string", `"hi"`, transcript.Part{Raw: json.Value(`"hi"`)}},
		{"null", `null`, transcript.Part{Raw: json.Value(`null`)}},
	} {
		c.want.Path = at
		got := decodePi(`{"id":"k","message":{"role":"assistant","content":[` + c.block + `]}}`).Parts[0]
		if diff := cmp.Diff(c.want, got, ignoreOrigin); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestPiResults(t *testing.T) {
	call := transcript.Part{Kind: transcript.Tool, Path: "/message/content/0", Name: "read", CallID: "c", Input: json.Value(`{}`), InputPath: "/message/content/0/arguments"}
	for _, c := range []struct {
		name, results string
		want          func(*transcript.Part)
		rest          []transcript.Part
	}{
		{"none", ``, func(*transcript.Part) {}, nil},
		{"text", `{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"out"}],"isError":false,"timestamp":5}`, func(p *transcript.Part) {
			p.ResultPath, p.Text, p.TextPath = "/results/0", "out", "/results/0/content/0/text"
		}, nil},
		{"failure", `{"toolCallId":"c","content":[{"type":"text","text":"no"}],"isError":true}`, func(p *transcript.Part) {
			p.ResultPath, p.Text, p.TextPath, p.IsError = "/results/0", "no", "/results/0/content/0/text", true
		}, nil},
		{"a string", `{"toolCallId":"c","content":"out"}`, func(p *transcript.Part) {
			p.ResultPath, p.Text, p.TextPath = "/results/0", "out", "/results/0/content"
		}, nil},
		{"texts, which Pi joins, and an image", `{"toolCallId":"c","content":[{"type":"image","data":"AA"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, func(p *transcript.Part) {
			p.ResultPath, p.Text, p.TextPath, p.Attachments = "/results/0", "a\nb", "/results/0/content/1/text", json.Value(`[{"type":"image","data":"AA"}]`)
		}, nil},
		{"an image alone is a result", `{"toolCallId":"c","content":[{"type":"image","data":"AA"}]}`, func(p *transcript.Part) {
			p.ResultPath, p.Attachments = "/results/0", json.Value(`[{"type":"image","data":"AA"}]`)
		}, nil},
		{"nothing", `{"toolCallId":"c","content":[]}`, func(p *transcript.Part) { p.ResultPath = "/results/0" }, nil},
		{
			"after a result of another call", `{"toolCallId":"x","content":"x"},{"toolCallId":"c","content":"out"}`, func(p *transcript.Part) {
				p.ResultPath, p.Text, p.TextPath = "/results/1", "out", "/results/1/content"
			},
			[]transcript.Part{{Path: "/results/0", Raw: json.Value(`{"toolCallId":"x","content":"x"}`)}},
		},
		{
			"one that cannot be read", `{"toolCallId":"c","content":5}`, func(*transcript.Part) {},
			[]transcript.Part{{Path: "/results/0", Raw: json.Value(`{"toolCallId":"c","content":5}`)}},
		},
	} {
		want := call
		c.want(&want)
		got := decodePi(`{"id":"k","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}]},"results":[` + c.results + `]}`).Parts
		if diff := cmp.Diff(append([]transcript.Part{want}, c.rest...), got, ignoreOrigin); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if isOpen := c.name == "none" || c.name == "one that cannot be read"; got[0].HasResult() == isOpen {
			t.Errorf("%s: has result %v", c.name, got[0].HasResult())
		}
	}
	twice := decodePi(`{"id":"k","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"a"},{"type":"toolCall","id":"c","name":"b"}]},"results":[{"toolCallId":"c","content":"1"},{"toolCallId":"c","content":"2"}]}`)
	if twice.Parts[0].Text != "1" || twice.Parts[1].Text != "2" {
		t.Errorf("an id that is given twice: %q and %q", twice.Parts[0].Text, twice.Parts[1].Text)
	}
}

func TestPiMessages(t *testing.T) {
	text := func(path, textPath, s string) []transcript.Part {
		return []transcript.Part{{Kind: transcript.Text, Path: path, Text: s, TextPath: textPath}}
	}
	other := func(raw string) []transcript.Part { return []transcript.Part{{Path: "/message", Raw: json.Value(raw)}} }
	const orphan = `{"id":"k","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"out"}],"timestamp":7}}`
	const tomorrow = `{"id":"k","message":{"role":"oracle","content":"yes","timestamp":7}}`
	const unsaid = `{"id":"k","message":{"role":"compactionSummary","summary":" ","timestamp":7}}`
	for _, c := range []struct {
		name, raw string
		want      transcript.Message
	}{
		{"user", `{"id":"k","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":7}}`, transcript.Message{Key: "k", Role: user, KeyLasts: true, Created: 7, Parts: text("/message/content/0", "/message/content/0/text", "hi")}},
		{"user, as a string", `{"id":"k","message":{"role":"user","content":"hi","timestamp":7}}`, transcript.Message{Key: "k", Role: user, KeyLasts: true, Created: 7, Parts: text("/message/content", "/message/content", "hi")}},
		{"custom, whose time does not last", `{"id":"k","message":{"role":"custom","customType":"x","content":"hi","display":false,"timestamp":7}}`, transcript.Message{Key: "k", Role: user, KeyLasts: true, Parts: text("/message/content", "/message/content", "hi")}},
		{"summary of a compaction", `{"id":"k","message":{"role":"compactionSummary","summary":"so far","tokensBefore":9,"timestamp":7}}`, transcript.Message{Key: "k", Role: user, KeyLasts: true, Created: 7, Summary: true, Parts: text("/message/summary", "/message/summary", "so far")}},
		{"summary of a branch", `{"id":"k","message":{"role":"branchSummary","summary":"there","fromId":"f","timestamp":7}}`, transcript.Message{Key: "k", Role: user, KeyLasts: true, Parts: text("/message/summary", "/message/summary", "there")}},
		{"a summary that says nothing", unsaid, transcript.Message{Key: "k", Role: user, KeyLasts: true, Created: 7, Summary: true, Parts: other(unsaid)}},
		{
			"a command of the user", `{"id":"k","message":{"role":"bashExecution","command":"ls","output":"a.go","exitCode":0,"cancelled":false,"truncated":false,"timestamp":7}}`,
			transcript.Message{Key: "k", Role: user, KeyLasts: true, Created: 7, Parts: append([]transcript.Part{
				{Path: "/message/command", Raw: json.Value(`{"command":"ls","exitCode":0,"cancelled":false,"truncated":false,"fullOutputPath":""}`)},
			}, text("/message/output", "/message/output", "a.go")...)},
		},
		{
			"a command that the model does not see", `{"id":"k","message":{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true,"timestamp":7}}`,
			transcript.Message{Key: "k", Role: user, KeyLasts: true, Created: 7, Hidden: true, Parts: []transcript.Part{
				{Path: "/message/command", Raw: json.Value(`{"command":"ls","cancelled":false,"truncated":false,"fullOutputPath":""}`)},
				{Kind: transcript.Text, Path: "/message/output", TextPath: "/message/output", Hidden: true},
			}},
		},
		{"a result without an answer", orphan, transcript.Message{Key: "k", Role: user, KeyLasts: true, Created: 7, Parts: other(orphan)}},
		{"a role of tomorrow", tomorrow, transcript.Message{Key: "k", Role: user, KeyLasts: true, Created: 7, Parts: other(tomorrow)}},
		{
			"answer", `{"id":"k","message":{"role":"assistant","content":[],"api":"anthropic-messages","provider":"anthropic","model":"opus","usage":{"input":5,"output":6,"cacheRead":40,"cacheWrite":15,"totalTokens":66,"cost":{}},"stopReason":"toolUse","timestamp":7},"results":[{"toolCallId":"x","content":"","timestamp":9}]}`,
			transcript.Message{
				Key: "k", Role: assistant, KeyLasts: true, Created: 7, Completed: 9, Model: schema.Model{Provider: "anthropic", ID: "opus"}, Finish: transcript.EndsWithCalls,
				Usage: transcript.Usage{Input: 5, Output: 6, CacheRead: 40, CacheWrite: 15},
				Parts: []transcript.Part{{Path: "/results/0", Raw: json.Value(`{"toolCallId":"x","content":"","timestamp":9}`)}},
			},
		},
		{"end of a turn", `{"id":"k","message":{"role":"assistant","content":[],"stopReason":"stop","timestamp":7}}`, transcript.Message{Key: "k", Role: assistant, KeyLasts: true, Created: 7, Completed: 7, Finish: transcript.EndsTurn}},
		{"too long an answer", `{"id":"k","message":{"role":"assistant","content":[],"stopReason":"length","timestamp":7}}`, transcript.Message{Key: "k", Role: assistant, KeyLasts: true, Created: 7, Completed: 7, Finish: transcript.EndsOtherwise}},
		{"an answer under way", `{"id":"k","message":{"role":"assistant","content":[],"stopReason":"pending","timestamp":7}}`, transcript.Message{Key: "k", Role: assistant, KeyLasts: true, Created: 7}},
		{"a failed answer", `{"id":"k","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"no","timestamp":7}}`, transcript.Message{Key: "k", Role: assistant, KeyLasts: true, Created: 7, Errored: true, Hidden: true}},
		{
			"an abort", `{"id":"k","message":{"role":"assistant","content":[{"type":"text","text":"half"}],"stopReason":"aborted","timestamp":7}}`,
			transcript.Message{Key: "k", Role: assistant, KeyLasts: true, Created: 7, Errored: true, Hidden: true, Parts: text("/message/content/0", "/message/content/0/text", "half")},
		},
		{"taken off the wire", `{"id":"k"}`, transcript.Message{Key: "k", KeyLasts: true}},
		{"content that is no list", `{"id":"k","message":{"role":"user","content":{}}}`, transcript.Message{Key: "k", Role: user, KeyLasts: true, Parts: []transcript.Part{{Path: "/message/content", Raw: json.Value(`{}`)}}}},
		{"an id that is no string", `{"id":7}`, transcript.Message{Parts: []transcript.Part{{Raw: json.Value(`{"id":7}`)}}}},
		{"no message", `[1]`, transcript.Message{Parts: []transcript.Part{{Raw: json.Value(`[1]`)}}}},
		{"no JSON", `{"id":`, transcript.Message{Parts: []transcript.Part{{Raw: json.Value(`{"id":`)}}}},
	} {
		got := decodePi(c.raw)
		if len(got.Parts) == 0 {
			got.Parts = nil
		}
		if diff := cmp.Diff(c.want, got, ignoreOrigin); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestPiEvents(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      transcript.Event
	}{
		{
			"an answer", `{"type":"message_end","message":{"role":"assistant","provider":"p","model":"m","usage":{"input":5},"stopReason":"stop","timestamp":7}}`,
			transcript.Event{Kind: transcript.MessageChanged, Message: transcript.Message{
				Key: "assistant:7", Role: assistant, KeyLasts: true, Created: 7, Completed: 7, Model: schema.Model{Provider: "p", ID: "m"}, Finish: transcript.EndsTurn, Usage: transcript.Usage{Input: 5},
			}},
		},
		{
			"a failed answer under its own key", `{"type":"message_end","id":"assistant:7#2","message":{"role":"assistant","stopReason":"error","errorMessage":"400 prompt is too long","timestamp":7}}`,
			transcript.Event{Kind: transcript.MessageChanged, Error: json.Value(`"400 prompt is too long"`), Message: transcript.Message{
				Key: "assistant:7#2", Role: assistant, KeyLasts: true, Created: 7, Errored: true, Hidden: true,
			}},
		},
		{"a prompt", `{"type":"message_end","message":{"role":"user","content":"hi","timestamp":7}}`, transcript.Event{}},
		{"a title", `{"type":"session_info_changed","name":"Find it"}`, transcript.Event{Kind: transcript.SessionTitled, Title: "Find it"}},
		{"another event", `{"type":"turn_start"}`, transcript.Event{}},
	} {
		got, err := transcript.Pi{}.Event(json.Value(c.raw))
		if diff := cmp.Diff(c.want, got, ignoreOrigin); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	if _, err := (transcript.Pi{}).Event(json.Value(`[`)); err == nil {
		t.Error("an event that is no JSON was read")
	}
}

func TestToolsOfPi(t *testing.T) {
	v := vocabularyOf(t, schema.HarnessPi)
	for tool, want := range map[string]transcript.ToolClass{
		"read": {Idempotent: true, File: transcript.UsesFile, Tier: 1}, "edit": {File: transcript.UsesFile, Tier: 2}, "write": {File: transcript.WritesFile, Tier: 2},
		"grep": {Idempotent: true, Tier: 2}, "find": {Idempotent: true, Tier: 2}, "ls": {Idempotent: true}, "bash": {Shows: true}, "todowrite": {}, "mcp_Read": {Idempotent: true, File: transcript.UsesFile, Tier: 1},
	} {
		if got := v.Tool(tool); got != want {
			t.Errorf("%s: %+v, want %+v", tool, got, want)
		}
	}
	if got := v.System.DateIn("You are.\nCurrent date: 2026-11-22\nCurrent working directory: /p"); got != "Current date: 2026-11-22" {
		t.Errorf("date line %q", got)
	}
}

const piAround = `{"id":"k","future":[1.0],"message":{"role":"assistant","future":{"n":12345678901234567890,"e":1E+400,"s":"\ud800\u00e9\/"},"content":[` +
	`{"type":"hologram","data":[1.0,-0,"\udc00"]},` +
	`{"type":"text","text":"%shi \ud83d\ude00 \ud83d","textSignature":"s"},` +
	`{"type":"toolCall","id":"c","name":"t","arguments":{"z":1,"a":[1.0]},"thoughtSignature":"x"}],"stopReason":"toolUse"},` +
	`"results":[{"toolCallId":"c","toolName":"t","content":[{"type":"text","text":"%sout"},{"type":"image","data":"AA"}],"details":{"x":1.0},"isError":false}]}`

func TestPiUnknownsPassByteIdentical(t *testing.T) {
	raw := json.Value(fmt.Sprintf(piAround, "", ""))
	m := transcript.Pi{}.Decode(raw)
	o := render.Options{Codec: transcript.Pi{}, Prefixes: true}
	got, err := render.Apply(raw, o.Patch(&m, units(frozen.NoEdit), render.Frame{}))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(piAround, "§1§ ", "§2§ "); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPiArcsAreOneThing(t *testing.T) {
	answer := func(calls, results string) string {
		return `{"id":"k","message":{"role":"assistant","content":[{"type":"text","text":"so"}` + calls + `]},"results":[` + results + `]}`
	}
	call := func(id string) string { return `,{"type":"toolCall","id":"` + id + `","name":"t","arguments":{}}` }
	result := func(id, text string) string { return `{"toolCallId":"` + id + `","content":[` + text + `]}` }
	said := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	raw := answer(call("a")+call("b")+call("c"), result("c", said("3"))+","+result("a", said("1")+`,{"type":"image","data":"AA"},`+said("more"))+","+result("b", said("2")))
	for _, c := range []struct {
		name  string
		edits map[string]frozen.EditKind
		want  string
	}{
		{"one leaves", map[string]frozen.EditKind{"a": frozen.Drop}, answer(call("b")+call("c"), result("c", said("3"))+","+result("b", said("2")))},
		{"two leave", map[string]frozen.EditKind{"a": frozen.Drop, "c": frozen.Drop}, answer(call("b"), result("b", said("2")))},
		{"all leave", map[string]frozen.EditKind{"a": frozen.Drop, "b": frozen.Drop, "c": frozen.Drop}, answer("", "")},
		{"a skeleton takes texts and images", map[string]frozen.EditKind{"a": frozen.Skeleton}, answer(call("a")+call("b")+call("c"), result("c", said("3"))+","+result("a", said("[dropped §2§]"))+","+result("b", said("2")))},
	} {
		m := decodePi(raw)
		o := render.Options{Codec: transcript.Pi{}}
		tag := 0
		patch := o.Patch(&m, func(p *transcript.Part) *frozen.Unit {
			tag++
			return &frozen.Unit{Tag: tag, Treatment: frozen.Treatment{Edit: c.edits[p.CallID]}}
		}, render.Frame{Profile: render.ProfileNamed("anthropic")})
		got, err := render.Apply(json.Value(raw), patch)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

func TestPiAnswerVanishes(t *testing.T) {
	for raw, want := range map[string]string{
		`{"id":"k","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"toolCall","id":"c","name":"t","arguments":{}}]},"results":[{"toolCallId":"c","content":"x"}]}`: `{"id":"k"}`,
		`{"id":"k","message":{"role":"assistant","content":[{"type":"text","text":""},{"type":"toolCall","id":"c","name":"t","arguments":{}}]},"results":[{"toolCallId":"c","content":"x"}]}`:                                   `{"id":"k"}`,
	} {
		m := decodePi(raw)
		o := render.Options{Codec: transcript.Pi{}}
		patch := o.Patch(&m, units(frozen.Drop), render.Frame{Profile: render.ProfileNamed("anthropic")})
		got, err := render.Apply(json.Value(raw), patch)
		if err != nil || string(got) != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
		after := transcript.Pi{}.Decode(got)
		if wire := render.WireMessageOf(&after); len(wire.Blocks) > 0 || after.Key != "k" {
			t.Errorf("%+v is left", wire)
		}
	}
}

// Decode never panics, and each patch fits its message.
func FuzzPiDecode(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(piAround, "", "")))
	for _, m := range []string{
		`{"role":"user","content":"§1§ hi"}`, `{"role":"user","content":[{"type":"image","data":"","mimeType":"image/png"},null,[]]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"d","redacted":true}],"stopReason":"error"}`,
		`{"role":"bashExecution","command":"ls","output":"x","exitCode":0}`, `{"role":"compactionSummary","summary":"x","timestamp":1e300}`, `{"role":"toolResult","content":[]}`,
		`{"role":"assistant","content":[{"type":"toolCall","id":"c","arguments":{"a":1}},{"type":"toolCall","id":"c"}]},"results":[{"toolCallId":"c","content":[]},{"toolCallId":"c","content":"x"},{"toolCallId":"d"}`,
	} {
		f.Add([]byte(`{"id":"k","message":` + m + `}`))
	}
	f.Add([]byte(`{"id":"k","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","arguments":{"a":1}}]},"results":[{"toolCallId":"c","content":[]},{"toolCallId":"d","content":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		codec := transcript.Pi{}
		m := codec.Decode(data)
		_, _ = codec.Event(data)
		if same, err := render.Apply(data, nil); err != nil || string(same) != string(data) {
			t.Fatalf("an empty patch changed the message: %s, %v", same, err)
		}
		if !json.Value(data).IsValid(jsontext.AllowInvalidUTF8(true)) { // see FuzzOpenCodeDecode
			return
		}
		for _, prefixes := range []bool{true, false} {
			o := render.Options{Codec: codec, Prefixes: prefixes}
			for _, edit := range []frozen.EditKind{frozen.NoEdit, frozen.Drop, frozen.Skeleton} {
				patch := o.Patch(&m, units(edit), render.Frame{})
				patched, err := render.Apply(data, patch)
				if err != nil {
					t.Fatalf("%s\npatch %+v: %v", data, patch, err)
				}
				after := codec.Decode(patched)
				isGone := len(after.Parts) == 0 && after.Role == ""
				if after.Key != m.Key || !isGone && (after.Role != m.Role || after.Finish != m.Finish || after.Usage != m.Usage) {
					t.Fatalf("patch %+v made another message of %s:\n%s", patch, data, patched)
				}
				if edit != frozen.Drop && len(after.Parts) != len(m.Parts) {
					t.Fatalf("patch %+v of %s lost a part:\n%s", patch, data, patched)
				}
			}
		}
	})
}
