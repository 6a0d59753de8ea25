package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	user      = transcript.User
	assistant = transcript.Assistant
)

func decode(role transcript.Role, parts string) transcript.Message {
	return transcript.OpenCode{}.Decode(json.Value(fmt.Sprintf(`{"info":{"id":"m","role":%q},"parts":[%s]}`, role, parts)))
}

func TestOpenCodeParts(t *testing.T) {
	const at = "/parts/0"
	for _, c := range []struct {
		name string
		role transcript.Role
		part string
		want transcript.Part
	}{
		{
			"text", user, `{"id":"p","type":"text","text":"hi"}`,
			transcript.Part{ID: "p", Kind: transcript.Text, Text: "hi", TextPath: at + "/text"},
		},
		{
			"text of the assistant, with times and metadata", assistant, `{"id":"p","type":"text","text":"hi","time":{"start":1,"end":2},"metadata":{"x":{"itemId":"1"}}}`,
			transcript.Part{ID: "p", Kind: transcript.Text, Text: "hi", TextPath: at + "/text"},
		},
		{
			"empty text", assistant, `{"id":"p","type":"text","text":""}`,
			transcript.Part{ID: "p", Kind: transcript.Text, TextPath: at + "/text", Hidden: true},
		},
		{
			"ignored text of the user", user, `{"id":"p","type":"text","text":"hi","ignored":true}`,
			transcript.Part{ID: "p", Kind: transcript.Text, Text: "hi", TextPath: at + "/text", Hidden: true},
		},
		{
			"only user texts are ignored", assistant, `{"id":"p","type":"text","text":"hi","ignored":true}`,
			transcript.Part{ID: "p", Kind: transcript.Text, Text: "hi", TextPath: at + "/text"},
		},
		{
			"the id of a synthetic text does not last", user, `{"id":"p","type":"text","text":"hi","synthetic":true}`,
			transcript.Part{Kind: transcript.Text, Text: "hi", TextPath: at + "/text"},
		},
		{
			"reasoning", assistant, `{"id":"p","type":"reasoning","text":"hm","time":{"start":1}}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/text"},
		},
		{
			"signed reasoning", assistant, `{"id":"p","type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"s"}}}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/text", Signature: json.Value(`{"anthropic":{"signature":"s"}}`)},
		},
		{
			"redacted reasoning", assistant, `{"id":"p","type":"reasoning","text":"","metadata":{"anthropic":{"redactedData":"s"}}}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, TextPath: at + "/text", Signature: json.Value(`{"anthropic":{"redactedData":"s"}}`)},
		},
		{
			"encrypted reasoning", assistant, `{"id":"p","type":"reasoning","text":"","metadata":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"e"}}}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, TextPath: at + "/text", Signature: json.Value(`{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"e"}}`)},
		},
		{
			"each proof alone is one", assistant, `{"id":"p","type":"reasoning","text":"","metadata":{"azure":{"reasoningEncryptedContent":"e"}}}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, TextPath: at + "/text", Signature: json.Value(`{"azure":{"reasoningEncryptedContent":"e"}}`)},
		},
		{
			"an item id too", assistant, `{"id":"p","type":"reasoning","text":"","metadata":{"openai":{"itemId":"rs_1"}}}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, TextPath: at + "/text", Signature: json.Value(`{"openai":{"itemId":"rs_1"}}`)},
		},
		{
			"metadata that proves nothing", assistant, `{"id":"p","type":"reasoning","text":"hm","metadata":{"x":{"cached":true}}}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/text"},
		},
		{
			"metadata of an unknown shape may be a proof", assistant, `{"id":"p","type":"reasoning","text":"hm","metadata":["s"]}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, Text: "hm", TextPath: at + "/text", Signature: json.Value(`["s"]`)},
		},
		{
			"blank unsigned reasoning", assistant, `{"id":"p","type":"reasoning","text":" \n"}`,
			transcript.Part{ID: "p", Kind: transcript.Reasoning, Text: " \n", TextPath: at + "/text", Hidden: true},
		},
		{
			"pending tool", assistant, `{"id":"p","type":"tool","callID":"c","tool":"read","state":{"status":"pending","input":{},"raw":""}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "read", CallID: "c", Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"running tool", assistant, `{"id":"p","type":"tool","callID":"c","tool":"read","state":{"status":"running","input":{"f":1},"time":{"start":1}}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "read", CallID: "c", Input: json.Value(`{"f":1}`), InputPath: at + "/state/input"},
		},
		{
			"completed tool", assistant, `{"id":"p","type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{"f":12345678901234567890},"output":"out","title":"t","metadata":{},"time":{"start":1,"end":2}}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "read", CallID: "c", Text: "out", TextPath: at + "/state/output", Input: json.Value(`{"f":12345678901234567890}`), InputPath: at + "/state/input"},
		},
		{
			"completed tool without output", assistant, `{"id":"p","type":"tool","callID":"c","tool":"read","state":{"status":"completed"}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "read", CallID: "c", Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"an empty output is a result", assistant, `{"id":"p","type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{},"output":""}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "read", CallID: "c", TextPath: at + "/state/output", Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"pruned tool", assistant, `{"id":"p","type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{},"output":"out","time":{"start":1,"end":2,"compacted":3},"attachments":[{"type":"file"}]}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "read", CallID: "c", Text: "[Old tool result content cleared]", Replaced: true, Original: "out", Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"tool with attachments", assistant, `{"id":"p","type":"tool","callID":"c","tool":"shot","state":{"status":"completed","input":{},"output":"out","attachments":[{"type":"file"}]}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "shot", CallID: "c", Text: "out", TextPath: at + "/state/output", Input: json.Value(`{}`), InputPath: at + "/state/input", Attachments: json.Value(`[{"type":"file"}]`), AttachmentsPath: at + "/state/attachments"},
		},
		{
			"no attachments", assistant, `{"id":"p","type":"tool","callID":"c","tool":"shot","state":{"status":"completed","input":{},"output":"out","attachments":[]}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "shot", CallID: "c", Text: "out", TextPath: at + "/state/output", Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"failed tool", assistant, `{"id":"p","type":"tool","callID":"c","tool":"read","state":{"status":"error","input":{},"error":"no"}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "read", CallID: "c", Text: "no", TextPath: at + "/state/error", IsError: true, Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"interrupted tool with output", assistant, `{"id":"p","type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{},"error":"aborted","metadata":{"interrupted":true,"output":"half"}}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "bash", CallID: "c", Text: "half", TextPath: at + "/state/metadata/output", Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"interrupted tool without output", assistant, `{"id":"p","type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{},"error":"aborted","metadata":{"interrupted":true}}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "bash", CallID: "c", Text: "aborted", TextPath: at + "/state/error", IsError: true, Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"only an interrupted tool has its output sent", assistant, `{"id":"p","type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{},"error":"no","metadata":{"output":"half"}}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "bash", CallID: "c", Text: "no", TextPath: at + "/state/error", IsError: true, Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"failed tool with output of another kind", assistant, `{"id":"p","type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{},"error":"no","metadata":{"interrupted":true,"output":[1]}}}`,
			transcript.Part{ID: "p", Kind: transcript.Tool, Name: "bash", CallID: "c", Text: "no", TextPath: at + "/state/error", IsError: true, Input: json.Value(`{}`), InputPath: at + "/state/input"},
		},
		{
			"image", user, `{"id":"p","type":"file","mime":"image/png","filename":"a.png","url":"data:image/png;base64,AA"}`,
			transcript.Part{ID: "p", Kind: transcript.File, Mime: "image/png", URL: "data:image/png;base64,AA"},
		},
		{
			"a text file stands in texts before it", user, `{"id":"p","type":"file","mime":"text/plain","url":"file:///a"}`,
			transcript.Part{ID: "p", Kind: transcript.File, Mime: "text/plain", URL: "file:///a", Hidden: true},
		},
		{
			"a directory too", user, `{"id":"p","type":"file","mime":"application/x-directory","url":"file:///a"}`,
			transcript.Part{ID: "p", Kind: transcript.File, Mime: "application/x-directory", URL: "file:///a", Hidden: true},
		},
		{"agent", user, `{"id":"p","type":"agent","name":"build"}`, transcript.Part{ID: "p", Hidden: true}},
		{"step-start", assistant, `{"id":"p","type":"step-start","snapshot":"abc"}`, transcript.Part{ID: "p", Hidden: true, StartsStep: true}},
		{"step-finish", assistant, `{"id":"p","type":"step-finish","reason":"stop"}`, transcript.Part{ID: "p", Hidden: true}},
		{"patch", assistant, `{"id":"p","type":"patch","hash":"h","files":[]}`, transcript.Part{ID: "p", Hidden: true}},
		{"snapshot", assistant, `{"id":"p","type":"snapshot","snapshot":"h"}`, transcript.Part{ID: "p", Hidden: true}},
		{"retry", assistant, `{"id":"p","type":"retry","attempt":1}`, transcript.Part{ID: "p", Hidden: true}},
		{"subtask", user, `{"id":"p","type":"subtask","prompt":"x"}`, transcript.Part{ID: "p", Raw: json.Value(`{"type":"subtask"}`)}},
		{"compaction", user, `{"id":"p","type":"compaction","auto":true}`, transcript.Part{ID: "p", Compacts: true, Raw: json.Value(`{"type":"compaction"}`)}},
		{"a kind of tomorrow", user, `{"id":"p","type":"hologram","text":"hi"}`, transcript.Part{ID: "p", Raw: json.Value(`{"id":"p","type":"hologram","text":"hi"}`)}},
		{"no kind", user, `{"id":"p"}`, transcript.Part{ID: "p", Raw: json.Value(`{"id":"p"}`)}},
		{"a text that is no string", user, `{"id":"p","type":"text","text":5}`, transcript.Part{Raw: json.Value(`{"id":"p","type":"text","text":5}`)}},
		{"an output that is no string", assistant, `{"id":"p","type":"tool","state":{"status":"completed","output":{}}}`, transcript.Part{Raw: json.Value(`{"id":"p","type":"tool","state":{"status":"completed","output":{}}}`)}},
		{"a string", user, `"hi"`, transcript.Part{Raw: json.Value(`"hi"`)}},
		{"null", user, `null`, transcript.Part{Raw: json.Value(`null`)}},
		{
			"a lone surrogate is read as U+FFFD", user, `{"id":"p","type":"text","text":"a\ud800b"}`,
			transcript.Part{ID: "p", Kind: transcript.Text, Text: "a\uFFFDb", TextPath: at + "/text"},
		},
	} {
		c.want.Path = at
		if diff := cmp.Diff(c.want, decode(c.role, c.part).Parts[0], ignoreOrigin); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestOpenCodeMessages(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      transcript.Message
	}{
		{
			"user",
			`{"info":{"id":"m1","sessionID":"s","role":"user","time":{"created":1700000000000},"agent":"build","model":{"providerID":"anthropic","modelID":"opus","variant":"high"},"tools":{"ctx_reduce":false},"summary":{"diffs":[]}},"parts":[]}`,
			transcript.Message{Key: "m1", Role: user, Created: 1700000000000, Model: schema.Model{Provider: "anthropic", ID: "opus"}, Agent: "build", Tools: map[string]bool{"ctx_reduce": false}},
		},
		{
			"assistant",
			`{"info":{"id":"m2","role":"assistant","parentID":"m1","time":{"created":1,"completed":2},"providerID":"anthropic","modelID":"opus","finish":"tool-calls","tokens":{"total":66,"input":5,"output":6,"reasoning":1,"cache":{"read":40,"write":15}}},"parts":[]}`,
			transcript.Message{Key: "m2", Role: assistant, Created: 1, Completed: 2, Model: schema.Model{Provider: "anthropic", ID: "opus"}, Finish: transcript.EndsWithCalls, Usage: transcript.Usage{Input: 5, Output: 6 + 1, CacheRead: 40, CacheWrite: 15}},
		},
		{
			"the answer of a compaction",
			`{"info":{"id":"m","role":"assistant","summary":true,"finish":"stop"},"parts":[]}`,
			transcript.Message{Key: "m", Role: assistant, Summary: true, Finish: transcript.EndsTurn},
		},
		{
			"a prompt is never a summary",
			`{"info":{"id":"m","role":"user","summary":true},"parts":[]}`,
			transcript.Message{Key: "m", Role: user},
		},
		{
			"a provider's error hides the answer",
			`{"info":{"id":"m","role":"assistant","error":{"name":"APIError","data":{}}},"parts":[]}`,
			transcript.Message{Key: "m", Role: assistant, Errored: true, Hidden: true},
		},
		{
			"an abort that said nothing too",
			`{"info":{"id":"m","role":"assistant","error":{"name":"MessageAbortedError"}},"parts":[{"type":"step-start"}]}`,
			transcript.Message{Key: "m", Role: assistant, Errored: true, Hidden: true, Parts: []transcript.Part{{Path: "/parts/0", Hidden: true, StartsStep: true}}},
		},
		{
			"no info", `{"parts":[{"type":"text","text":"x"}]}`,
			transcript.Message{Parts: []transcript.Part{{Kind: transcript.Text, Path: "/parts/0", Text: "x", TextPath: "/parts/0/text"}}},
		},
		{"nothing", `{}`, transcript.Message{}},
		{"null", `null`, transcript.Message{}},
		{"null members", `{"info":null,"parts":null}`, transcript.Message{}},
		{"parts that are no list", `{"info":{"id":"m"},"parts":{}}`, transcript.Message{Parts: []transcript.Part{{Raw: json.Value(`{"info":{"id":"m"},"parts":{}}`)}}}},
		{"an id that is no string", `{"info":{"id":7},"parts":[]}`, transcript.Message{Parts: []transcript.Part{{Raw: json.Value(`{"info":{"id":7},"parts":[]}`)}}}},
		{"no message", `[1]`, transcript.Message{Parts: []transcript.Part{{Raw: json.Value(`[1]`)}}}},
		{"no JSON", `{"info":`, transcript.Message{Parts: []transcript.Part{{Raw: json.Value(`{"info":`)}}}},
	} {
		got := transcript.OpenCode{}.Decode(json.Value(c.raw))
		if len(got.Parts) == 0 {
			got.Parts = nil
		}
		if diff := cmp.Diff(c.want, got, ignoreOrigin); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	spoken := transcript.OpenCode{}.Decode(json.Value(`{"info":{"id":"m","role":"assistant","error":{"name":"MessageAbortedError"}},"parts":[{"type":"text","text":"x"}]}`))
	if spoken.Hidden {
		t.Error("an abort that had said something is hidden")
	}
}

func TestUnknownsPassByteIdentical(t *testing.T) {
	const around = `{"info":{"id":"m","role":"user","future":{"n":12345678901234567890,"e":1E+400,"s":"\ud800\u00e9\/"}},"parts":[` +
		`{"type":"hologram","data":[1.0,-0,"\udc00"]},` +
		`{"id":"p","type":"text","text":"%shi \ud83d\ude00 \ud83d","extra":{"deep":[[],{}]},"text2":null},` +
		`{"type":"step-start"},null,5]}`
	raw := json.Value(fmt.Sprintf(around, ""))
	m := transcript.OpenCode{}.Decode(raw)
	o := render.Options{Codec: transcript.OpenCode{}, Prefixes: true}
	patch := o.Patch(&m, units(frozen.NoEdit), render.Frame{})
	got, err := render.Apply(raw, patch)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(around, "§1§ "); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func units(edit frozen.EditKind) render.UnitOf {
	tag := 0
	return func(p *transcript.Part) *frozen.Unit {
		if p.Hidden || p.Kind == transcript.Other || p.Kind == transcript.Reasoning {
			return nil
		}
		tag++
		u := &frozen.Unit{Tag: tag, Treatment: frozen.Treatment{Edit: edit}}
		if p.Kind == transcript.Tool && !p.HasResult() {
			u.Edit = frozen.NoEdit // no rule edits an arc without a result
		}
		return u
	}
}

// Decode never panics, and each patch fits its message.
func FuzzOpenCodeDecode(f *testing.F) {
	for _, part := range []string{
		`{"id":"p","type":"text","text":"§1§ hi"}`,
		`{"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"s"}}}`,
		`{"type":"tool","callID":"c","tool":"t","state":{"status":"completed","input":{"a":"` + strings.Repeat("x", 510) + `"},"output":"o","attachments":[{}]}}`,
		`{"type":"tool","callID":"c","state":{"status":"error","error":"e","metadata":{"interrupted":true,"output":"o"}}}`,
		`{"type":"file","mime":"image/png","url":"data:,"}`,
		`{"type":"tool","state":{"status":"completed","output":"\ud800","input":null}}`,
		`null,{"type":"x"},[]`,
	} {
		f.Add([]byte(`{"info":{"id":"m","role":"assistant","time":{"created":1e300}},"parts":[` + part + `]}`))
		f.Add([]byte(`{"info":{"id":"m","role":"user"},"parts":[` + part + `]}`))
	}
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		codec := transcript.OpenCode{}
		m := codec.Decode(data)
		if same, err := render.Apply(data, nil); err != nil || string(same) != string(data) {
			t.Fatalf("an empty patch changed the message: %s, %v", same, err)
		}
		// A JavaScript object has no member twice.
		if !json.Value(data).IsValid(jsontext.AllowInvalidUTF8(true)) {
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
				if after.Key != m.Key || after.Role != m.Role || after.Finish != m.Finish || after.Usage != m.Usage {
					t.Fatalf("patch %+v made another message of %s:\n%s", patch, data, patched)
				}
				if edit != frozen.Drop && len(after.Parts) != len(m.Parts) {
					t.Fatalf("patch %+v of %s lost a part:\n%s", patch, data, patched)
				}
			}
		}
	})
}
