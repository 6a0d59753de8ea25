package mockllm

import (
	stdcmp "cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A chat is a client that talks to a model with bound thinking. It sends every answer back unchanged in its next
// request, unless a test changes its messages.
type chat struct {
	t        *testing.T
	server   *Server
	model    string
	system   []any
	tools    []any
	messages []object
	answer   object // the newest answer
}

const boundModel = "claude-fable-5-1"

func startChat(t *testing.T, mode Binding) *chat {
	t.Helper()
	s := start(t)
	s.Bind(mode, boundModel, "claude-fable-5-2")
	return &chat{
		t: t, server: s, model: boundModel,
		system: []any{object{"type": "text", "text": "Be brief."}},
		tools:  []any{object{"name": "read", "description": "Read a file"}, object{"name": "bash"}},
	}
}

func (c *chat) say(blocks ...object) *chat {
	c.messages = append(c.messages, object{"role": "user", "content": blocks})
	return c
}

func text(s string) object { return object{"type": "text", "text": s} }

func toolResult(id, output string) object {
	return object{"type": "tool_result", "tool_use_id": id, "content": []any{text(output)}}
}

func (c *chat) ask(step Step) *Request {
	c.t.Helper()
	c.server.Enqueue(step)
	status, body := c.send()
	if status == http.StatusOK {
		content, _ := c.answer["content"].([]any)
		c.messages = append(c.messages, object{"role": "assistant", "content": content})
	} else if !strings.Contains(body, "Invalid `signature` in `thinking` block") {
		c.t.Fatalf("%d %s", status, body)
	}
	all := c.server.Requests()
	return all[len(all)-1]
}

func (c *chat) send() (int, string) {
	c.t.Helper()
	raw, err := json.Marshal(object{"model": c.model, "system": c.system, "tools": c.tools, "messages": c.messages})
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.server.URL()+anthropicPath, strings.NewReader(string(raw)))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set(openCodeSession, "ses1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	c.answer = nil
	if err := json.Unmarshal(body, &c.answer); err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func (c *chat) content(message int) []any {
	return c.messages[message]["content"].([]any)
}

func think(n int) Block { return Thinking(fmt.Sprintf("thought %d", n), "of the script") }

// threeSteps returns a conversation with three answers and four thinking blocks:
//
//	0 user
//	1 thinking, call     2 result
//	3 redacted, text     4 user
//	5 thinking, thinking, text, call     6 result
func threeSteps(t *testing.T, mode Binding) *chat {
	t.Helper()
	c := startChat(t, mode)
	c.say(text("Hello")).ask(Step{Blocks: []Block{think(1), Tool("t1", "read", object{"b": 1, "a": 2})}})
	c.say(toolResult("t1", "output")).ask(Step{Blocks: []Block{RedactedThinking("aGlkZGVu"), Text("Well.")}})
	c.say(text("Go on")).ask(Step{Blocks: []Block{think(3), think(4), Text("I shall."), Tool("t2", "bash", object{})}})
	c.say(toolResult("t2", "more"))
	for _, r := range c.server.Requests() {
		if len(r.Thinking.Missing) > 0 || r.Thinking.Count(BlockValid) != len(r.Thinking.Blocks) {
			t.Fatalf("request %d: %+v", r.Seq, r.Thinking)
		}
	}
	return c
}

// Each case changes one thing before a thinking block. Only some changes make the block invalid.
func TestThinkingIsBoundToItsPrefix(t *testing.T) {
	const missingThinking = "thinking` block that preceded this one"
	for _, tc := range []struct {
		name   string
		change func(*chat)
		// `invalid` lists the blocks that must fail the check, and `why` is a part of the expected reason for the first
		// of them.
		invalid []string
		why     string
		missing []MissingBlock
	}{
		{name: "pure append", change: func(*chat) {}},
		{name: "cache markers", change: func(c *chat) {
			mark := object{"type": "ephemeral"}
			c.system[0].(object)["cache_control"] = mark
			c.tools[1].(object)["cache_control"] = mark
			c.messages[0]["content"].([]object)[0]["cache_control"] = mark
			c.content(1)[1].(map[string]any)["cache_control"] = mark
			c.messages[2]["content"].([]object)[0]["content"].([]any)[0].(object)["cache_control"] = mark
		}},
		{name: "a string instead of a text", change: func(c *chat) { c.messages[0]["content"] = "Hello" }},
		{name: "a message in two", change: func(c *chat) {
			c.messages = slices.Insert(c.messages, 6, object{"role": "assistant", "content": c.content(5)[2:]})
			c.messages[5]["content"] = c.content(5)[:2]
		}},
		{name: "the results and the next prompt in one message", change: func(c *chat) {
			c.messages[6]["content"] = []object{toolResult("t2", "more"), text("And now?")}
		}},
		{
			name: "system prompt", change: func(c *chat) { c.system[0].(object)["text"] = "Be verbose." },
			invalid: []string{"messages.1.content.0", "messages.3.content.0", "messages.5.content.0", "messages.5.content.1"},
			why:     "The `system` prompt differs",
		},
		{
			name: "another tool", change: func(c *chat) { c.tools = append(c.tools, object{"name": "write"}) },
			invalid: []string{"messages.1.content.0", "messages.3.content.0", "messages.5.content.0", "messages.5.content.1"},
			why:     "The `tools` differ",
		},
		{
			name: "tools in another order", change: func(c *chat) { slices.Reverse(c.tools) },
			invalid: []string{"messages.1.content.0", "messages.3.content.0", "messages.5.content.0", "messages.5.content.1"},
			why:     "The `tools` differ",
		},
		{
			name: "first text", change: func(c *chat) { c.messages[0]["content"].([]object)[0]["text"] = "§1§ Hello" },
			invalid: []string{"messages.1.content.0", "messages.3.content.0", "messages.5.content.0", "messages.5.content.1"},
			why:     "messages.0.content.0 differs from messages.0.content.0",
		},
		{
			name: "arguments of a call", change: func(c *chat) { c.content(1)[1].(map[string]any)["input"] = object{"a": 2} },
			invalid: []string{"messages.3.content.0", "messages.5.content.0", "messages.5.content.1"},
			why:     "messages.1.content.1 differs",
		},
		{
			name: "a result", change: func(c *chat) { c.messages[2]["content"] = []object{toolResult("t1", "[dropped §2§]")} },
			invalid: []string{"messages.3.content.0", "messages.5.content.0", "messages.5.content.1"},
			why:     "messages.2.content.0 differs",
		},
		{
			name: "a text in the middle", change: func(c *chat) { c.content(3)[1].(map[string]any)["text"] = "Well" },
			invalid: []string{"messages.5.content.0", "messages.5.content.1"},
			why:     "messages.3.content.1 differs",
		},
		{
			name: "a reminder appended to a message of the user", change: func(c *chat) {
				c.messages[4]["content"] = []object{text("Go on"), text("<system-reminder>")}
			},
			invalid: []string{"messages.5.content.0", "messages.5.content.1"},
			why:     "messages.4.content.1 was not there",
		},
		{name: "a text after all thinking", change: func(c *chat) { c.content(5)[2].(map[string]any)["text"] = "§4§ I shall." }},
		{
			name: "text of a thinking block", change: func(c *chat) { c.content(1)[0].(map[string]any)["thinking"] = "thought" },
			invalid: []string{"messages.1.content.0", "messages.3.content.0", "messages.5.content.0", "messages.5.content.1"},
			why:     "text of the block was changed",
		},
		{
			name: "an unknown signature", change: func(c *chat) { c.content(5)[1].(map[string]any)["signature"] = "of the script" },
			invalid: []string{"messages.5.content.1"}, why: "Nobody made",
			missing: []MissingBlock{{Made: 3, How: Lost}},
		},
		{
			name: "first thinking left out", change: func(c *chat) { c.messages[1]["content"] = c.content(1)[1:] },
			invalid: []string{"messages.3.content.0", "messages.5.content.0", "messages.5.content.1"}, why: missingThinking,
			missing: []MissingBlock{{Made: 1, How: Lost}},
		},
		{
			name: "redacted thinking left out", change: func(c *chat) { c.messages[3]["content"] = c.content(3)[1:] },
			invalid: []string{"messages.5.content.0", "messages.5.content.1"}, why: missingThinking,
			missing: []MissingBlock{{Made: 2, How: Lost}},
		},
		{
			name: "first of two in an answer left out", change: func(c *chat) { c.messages[5]["content"] = c.content(5)[1:] },
			invalid: []string{"messages.5.content.0"}, why: missingThinking,
			missing: []MissingBlock{{Made: 3, How: Lost}},
		},
		{
			name: "two of an answer in another order", change: func(c *chat) { slices.Reverse(c.content(5)[:2]) },
			invalid: []string{"messages.5.content.0", "messages.5.content.1"}, why: missingThinking,
		},
		{
			name: "all thinking left out", change: func(c *chat) {
				c.messages[1]["content"], c.messages[3]["content"], c.messages[5]["content"] = c.content(1)[1:], c.content(3)[1:], c.content(5)[2:]
			},
			missing: []MissingBlock{{1, Lost}, {2, Lost}, {3, Lost}, {3, Lost}},
		},
		{
			name: "a result dropped, and all thinking after it", change: func(c *chat) {
				c.messages[2]["content"] = []object{toolResult("t1", "[dropped §2§]")}
				c.messages[3]["content"], c.messages[5]["content"] = c.content(3)[1:], c.content(5)[2:]
			},
			missing: []MissingBlock{{2, Cut}, {3, Cut}, {3, Cut}},
		},
		{
			name: "back to before the last prompt", change: func(c *chat) { c.messages = append(c.messages[:4], object{"role": "user", "content": "Stop"}) },
			missing: []MissingBlock{{3, Cut}, {3, Cut}},
		},
		{
			name: "the newest answer is not there", change: func(c *chat) { c.messages = c.messages[:5] },
			missing: []MissingBlock{{3, Gone}, {3, Gone}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := threeSteps(t, BindingRefuse)
			tc.change(c)
			r := c.ask(Say("Done."))
			var invalid []string
			var why string // the reason for the first invalid block
			for _, b := range r.Thinking.Blocks {
				if b.State == BlockInvalid {
					invalid = append(invalid, b.Where)
					why = stdcmp.Or(why, b.Why)
				}
			}
			if diff := cmp.Diff(tc.invalid, invalid); diff != "" || !strings.Contains(why, tc.why) {
				t.Errorf("invalid (-want +got):\n%s%s", diff, why)
			}
			if !slices.Equal(r.Thinking.Missing, tc.missing) {
				t.Errorf("missing: %+v, want %+v", r.Thinking.Missing, tc.missing)
			}
			refused := c.answer["type"] == "error"
			if refused != (len(tc.invalid) > 0) {
				t.Errorf("refused: %v", refused)
			}
			if !refused {
				return
			}
			message := fmt.Sprint(c.answer["error"].(map[string]any)["message"])
			if !strings.HasPrefix(message, tc.invalid[0]+": Invalid `signature` in `thinking` block.") || !strings.Contains(message, tc.why) {
				t.Errorf("refused with %q", message)
			}
		})
	}
}

// A block in the middle of an answer is also bound to the part of the answer before it.
func TestThinkingBetweenTexts(t *testing.T) {
	for _, tagged := range []bool{false, true} {
		c := startChat(t, BindingRefuse)
		c.say(text("Hello")).ask(Step{Blocks: []Block{think(1), Text("Well."), think(2), Tool("t1", "read", object{})}})
		if tagged {
			c.content(1)[1].(map[string]any)["text"] = "§2§ Well."
		}
		r := c.say(toolResult("t1", "output")).ask(Say("Done."))
		want := map[bool]int{false: 0, true: 1}[tagged]
		if got := r.Thinking.Count(BlockInvalid); got != want || len(r.Thinking.Blocks) != 2 {
			t.Errorf("tagged %v: %+v", tagged, r.Thinking)
		}
	}
}

// Thinking that the model writes after a change is bound to the changed prompt, so it is valid.
func TestThinkingAfterAChangeIsValid(t *testing.T) {
	c := threeSteps(t, BindingDrop)
	c.messages[2]["content"] = []object{toolResult("t1", "[dropped §2§]")}
	r := c.ask(Step{Blocks: []Block{think(5), Text("On.")}})
	if r.Thinking.Count(BlockInvalid) != 3 || r.Thinking.Count(BlockValid) != 1 {
		t.Errorf("after the change: %+v", r.Thinking)
	}
	list, _ := c.answer["input_transformations"].([]any)
	if want := (map[string]any{"type": "thinking_dropped", "path": "messages.3.content.0", "reason": "prefix_binding_mismatch"}); len(list) != 3 || cmp.Diff(want, list[0]) != "" {
		t.Errorf("transformations: %+v", list)
	}
	r = c.say(text("Sure?")).ask(Say("Yes."))
	if r.Thinking.Count(BlockInvalid) != 3 || r.Thinking.Count(BlockValid) != 2 || len(r.Thinking.Missing) != 0 {
		t.Errorf("one request later: %+v", r.Thinking)
	}
	got, want := c.server.Thinking("ses1"), ThinkingCount{Requests: 5, Made: 5, Sent: 0 + 1 + 2 + 4 + 5, Valid: 0 + 1 + 2 + 1 + 2, Invalid: 6}
	if got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestThinkingOfAnotherModel(t *testing.T) {
	c := threeSteps(t, BindingRefuse)
	c.model = "claude-fable-5-2"
	r := c.ask(Say("Done."))
	if r.Thinking.Count(BlockForeign) != 4 || len(r.Thinking.Missing) != 0 || c.answer["type"] == "error" {
		t.Errorf("%+v, %v", r.Thinking, c.answer)
	}
	c.model = "claude-old"
	r = c.say(text("Sure?")).ask(Step{Blocks: []Block{Thinking("old", "of the script")}})
	if len(r.Thinking.Blocks) != 0 {
		t.Errorf("a model that does not bind: %+v", r.Thinking)
	}
	c.model = boundModel
	r = c.say(text("Back.")).ask(Say("Hm."))
	if r.Thinking.Count(BlockForeign) != 1 || r.Thinking.Count(BlockValid) != 4 {
		t.Errorf("back again: %+v", r.Thinking)
	}
}

func TestThinkingIsBoundInStreams(t *testing.T) {
	s := start(t)
	s.Bind(BindingRefuse, "m")
	s.Enqueue(Step{Blocks: []Block{think(1), RedactedThinking("data"), Text("Hi.")}})
	events, err := stream(t, post(t, s, anthropicPath, `{"model":"m","stream":true,"system":"be","messages":[{"role":"user","content":"go"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var signature, data string
	for _, raw := range events {
		var e struct {
			ContentBlock struct {
				Data string `json:"data"`
			} `json:"content_block"`
			Delta struct {
				Signature string `json:"signature"`
			} `json:"delta"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		signature += e.Delta.Signature
		data += e.ContentBlock.Data
	}
	s.Enqueue(Say("ok"))
	post(t, s, anthropicPath, fmt.Sprintf(`{"model":"m","system":"be","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[`+
		`{"type":"thinking","thinking":"thought 1","signature":%q},{"type":"redacted_thinking","data":%q},{"type":"text","text":"Hi."}]},`+
		`{"role":"user","content":"on"}]}`, signature, data))
	if r := s.Requests()[1]; r.Thinking.Count(BlockValid) != 2 {
		t.Errorf("%+v", r.Thinking)
	}
}

func TestThinkingUnbound(t *testing.T) {
	c := startChat(t, BindingOff)
	c.say(text("Hello")).ask(Step{Blocks: []Block{think(1), Text("Hi.")}})
	if got := c.content(1)[0].(map[string]any)["signature"]; got != "of the script" {
		t.Errorf("signature %v", got)
	}
	c.system[0].(object)["text"] = "Be verbose."
	if r := c.say(text("On")).ask(Say("ok")); len(r.Thinking.Blocks) != 0 || c.answer["type"] == "error" {
		t.Errorf("%+v %v", r.Thinking, c.answer)
	}
}
