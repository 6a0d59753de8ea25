package mockllm

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	anthropicPath = "/v1/messages"
	openaiPath    = "/v1/chat/completions"
)

func start(t *testing.T) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func post(t *testing.T, s *Server, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func stream(t *testing.T, res *http.Response) (data []json.Value, err error) {
	t.Helper()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, json.Value(d))
		}
	}
	return data, lines.Err()
}

func TestAnthropicStream(t *testing.T) {
	s := start(t)
	s.Enqueue(Step{
		Blocks: []Block{
			Thinking("hm", "c2ln"),
			Text("I read both ♥."),
			Tool("t1", "read", map[string]any{"filePath": "a"}),
			BadTool("", "read", `{"filePath`),
		},
		Usage:      &promptcache.Tokens{Fresh: 7, Write: 20, Read: 300, Output: 4},
		ChunkBytes: 8,
	})
	events, err := stream(t, post(t, s, anthropicPath, `{"model":"m","stream":true,"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}

	var kinds []string
	deltas := map[string]string{} // by the field that carries them
	var startUsage, endUsage map[string]int
	var stop string
	for _, raw := range events {
		var e struct {
			Type    string `json:"type"`
			Message struct {
				Usage map[string]int `json:"usage"`
			} `json:"message"`
			Delta struct {
				Text        string `json:"text"`
				Thinking    string `json:"thinking"`
				Signature   string `json:"signature"`
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			} `json:"delta"`
			Usage map[string]int `json:"usage"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("event %s: %v", raw, err)
		}
		if e.Type != "content_block_delta" {
			kinds = append(kinds, e.Type)
		}
		deltas["text"] += e.Delta.Text
		deltas["thinking"] += e.Delta.Thinking
		deltas["signature"] += e.Delta.Signature
		deltas["input"] += e.Delta.PartialJSON
		switch e.Type {
		case "message_start":
			startUsage = e.Message.Usage
		case "message_delta":
			endUsage, stop = e.Usage, e.Delta.StopReason
		}
	}

	block := []string{"content_block_start", "content_block_stop"}
	wantKinds := append([]string{"message_start"}, append(append(append(append([]string{}, block...), block...), block...), block...)...)
	wantKinds = append(wantKinds, "message_delta", "message_stop")
	if diff := cmp.Diff(wantKinds, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantDeltas := map[string]string{
		"text": "I read both ♥.", "thinking": "hm", "signature": "c2ln", "input": `{"filePath":"a"}{"filePath`,
	}
	if diff := cmp.Diff(wantDeltas, deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	wantUsage := map[string]int{
		"input_tokens": 7, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 1,
	}
	if diff := cmp.Diff(wantUsage, startUsage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if endUsage["output_tokens"] != 4 || stop != "tool_use" {
		t.Errorf("ended with %v, stop reason %q", endUsage, stop)
	}
}

func TestOpenAIStream(t *testing.T) {
	s := start(t)
	s.Enqueue(Step{Blocks: []Block{
		Thinking("hm", "unused"), Text("yes"), Tool("c1", "read", map[string]any{"a": 1}), Tool("c2", "bash", map[string]any{}),
	}})
	events, err := stream(t, post(t, s, openaiPath, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if last := string(events[len(events)-1]); last != "[DONE]" {
		t.Fatalf("the stream ends with %s", last)
	}
	var text, reasoning, finish string
	calls := map[int]string{}
	for _, raw := range events[:len(events)-1] {
		var e struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					Reasoning string `json:"reasoning_content"`
					ToolCalls []struct {
						Index    int    `json:"index"`
						ID       string `json:"id"`
						Function struct {
							Name      string `json:"name"`
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"delta"`
				Finish string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("event %s: %v", raw, err)
		}
		for _, c := range e.Choices {
			text += c.Delta.Content
			reasoning += c.Delta.Reasoning
			finish += c.Finish
			for _, call := range c.Delta.ToolCalls {
				calls[call.Index] += call.ID + call.Function.Name + call.Function.Arguments
			}
		}
	}
	if text != "yes" || reasoning != "hm" || finish != "tool_calls" {
		t.Errorf("text %q, reasoning %q, finish %q", text, reasoning, finish)
	}
	if diff := cmp.Diff(map[int]string{0: `c1read{"a":1}`, 1: `c2bash{}`}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestUnstreamedAnswers(t *testing.T) {
	step := Step{Blocks: []Block{Text("yes"), Tool("c1", "read", map[string]any{"a": 1})}, Usage: &promptcache.Tokens{Fresh: 5, Read: 9, Output: 2}}
	for _, tc := range []struct{ path, want string }{
		{anthropicPath, `{"content":[{"text":"yes","type":"text"},{"id":"c1","input":{"a":1},"name":"read","type":"tool_use"}],` +
			`"id":"msg_mock000001","model":"m","role":"assistant","stop_reason":"tool_use","stop_sequence":null,"type":"message",` +
			`"usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":9,"input_tokens":5,"output_tokens":2}}`},
		{openaiPath, `{"choices":[{"finish_reason":"tool_calls","index":0,"message":{"content":"yes","role":"assistant",` +
			`"tool_calls":[{"function":{"arguments":"{\"a\":1}","name":"read"},"id":"c1","type":"function"}]}}],"created":0,` +
			`"id":"chatcmpl-mock000001","model":"m","object":"chat.completion","usage":{"completion_tokens":2,"prompt_tokens":14,` +
			`"prompt_tokens_details":{"cached_tokens":9},"total_tokens":16}}`},
	} {
		s := start(t)
		s.Enqueue(step)
		got, err := io.ReadAll(post(t, s, tc.path, `{"model":"m","messages":[]}`).Body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.path, diff)
		}
	}
}

func TestRulesComeBeforeTheQueue(t *testing.T) {
	s := start(t)
	s.AddRule(Rule{Name: "title", Match: All(WithoutTools, SystemContains("title")), Answer: Always(Say("a title"))})
	s.AddRule(Rule{Name: "mini", Match: Model("mini"), Answer: InOrder(Say("one"))})
	s.Enqueue(Say("queued"))
	for _, tc := range []struct{ body, want string }{
		{`{"model":"m","system":"Make a title.","messages":[]}`, "a title"},
		{`{"model":"m","system":"Make a title.","tools":[{"name":"read"}],"messages":[]}`, "queued"},
		{`{"model":"mini","messages":[]}`, "one"},
		{`{"model":"mini","messages":[]}`, "no answer for this request"},
		{`{"model":"m","messages":[]}`, "no answer for this request"},
	} {
		got, err := io.ReadAll(post(t, s, anthropicPath, tc.body).Body)
		if err != nil || !strings.Contains(string(got), tc.want) {
			t.Errorf("%s answered %s, %v; want %q", tc.body, got, err, tc.want)
		}
	}
	var rules []string
	for _, r := range s.Requests() {
		rules = append(rules, r.Rule)
	}
	if diff := cmp.Diff([]string{"title", "", "mini", "mini", ""}, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestRequestIsParsed(t *testing.T) {
	s := start(t)
	s.Enqueue(Say("ok"), Say("ok"))
	const mark = `"cache_control":{"type":"ephemeral"}`
	anthropic := `{"model":"m","tools":[{"name":"read"}],"system":[{"type":"text",` + mark + `,"text":"be"}],"messages":[` +
		`{"role":"user","content":"go"},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"t1","name":"read","input":{"a":1},` + mark + `}]},` +
		`{"role":"user","content":[{` + mark + `,"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}]}]}`
	openai := `{"model":"m","tools":[{"type":"function","function":{"name":"read"}}],"messages":[` +
		`{"role":"system","content":"be"},{"role":"user","content":[{"type":"text","text":"go"}]},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"t1","type":"function","function":{"name":"read","arguments":"{\"a\":1}"}}]},` +
		`{"role":"tool","tool_call_id":"t1","content":"x\ny"}]}`
	post(t, s, anthropicPath, anthropic)
	post(t, s, openaiPath, openai)

	requests := s.Requests()
	a, o := requests[0], requests[1]
	call := Content{Type: "tool_use", ID: "t1", Name: "read", Input: json.Value(`{"a":1}`)}
	result := Content{Type: "tool_result", ID: "t1", Text: "x\ny"}
	wantA := []Message{
		{Role: "user", Content: []Content{{Type: "text", Text: "go"}}},
		{Role: "assistant", Content: []Content{{Type: "thinking", Text: "hm", Signature: "s"}, call}},
		{Role: "user", Content: []Content{result}},
	}
	wantO := []Message{
		{Role: "user", Content: []Content{{Type: "text", Text: "go"}}},
		{Role: "assistant", Content: []Content{{Type: "text"}, call}},
		{Role: "tool", Content: []Content{result}},
	}
	if diff := cmp.Diff(wantA, a.Messages); diff != "" {
		t.Errorf("Anthropic messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantO, o.Messages); diff != "" {
		t.Errorf("OpenAI messages (-want +got):\n%s", diff)
	}
	for _, r := range requests {
		if diff := cmp.Diff([]string{"be"}, r.System); diff != "" {
			t.Errorf("%s system (-want +got):\n%s", r.Dialect, diff)
		}
		if diff := cmp.Diff([]string{"read"}, r.Tools); diff != "" {
			t.Errorf("%s tools (-want +got):\n%s", r.Dialect, diff)
		}
	}
	wantMarks := []string{"system[0]", "messages[1].content[1]:assistant", "messages[2].content[0]:user"}
	if diff := cmp.Diff(wantMarks, a.Breakpoints()); diff != "" {
		t.Errorf("breakpoints (-want +got):\n%s", diff)
	}
	for _, b := range a.Blocks {
		if strings.Contains(string(b.JSON), "cache_control") || !b.JSON.IsValid() {
			t.Errorf("%s: %s", b.Where, b.JSON)
		}
	}
	if got, want := string(a.Blocks[1].JSON), `{"type":"text","text":"be"}`; got != want {
		t.Errorf("block without its marker: got %s, want %s", got, want)
	}
}

func TestUsageFollowsTheSimulatedCache(t *testing.T) {
	s := start(t)
	s.Enqueue(Say("one"), Say("two"))
	user := `{"type":"text","text":"` + strings.Repeat("x", 8000) + `","cache_control":{"type":"ephemeral"}}`
	post(t, s, anthropicPath, `{"model":"m","messages":[{"role":"user","content":[`+user+`]}]}`)
	user = strings.Replace(user, `,"cache_control":{"type":"ephemeral"}`, "", 1)
	post(t, s, anthropicPath, `{"model":"m","messages":[{"role":"user","content":[`+user+`,{"type":"text","text":"more","cache_control":{"type":"ephemeral"}}]}]}`)
	r := s.Requests()
	if w, got := r[0].Simulated.Write, r[1].Simulated.Read; w < 2000 || got != w {
		t.Errorf("the first request wrote %d tokens, the second read %d", w, got)
	}
}

func TestTrouble(t *testing.T) {
	t.Run("error", func(t *testing.T) {
		s := start(t)
		step := Fail(http.StatusTooManyRequests, "rate_limit_error", "slow down")
		step.Error.Header = http.Header{"Retry-After": {"3"}}
		s.Enqueue(step)
		res := post(t, s, anthropicPath, `{"model":"m","messages":[]}`)
		body, _ := io.ReadAll(res.Body)
		want := `{"error":{"message":"slow down","type":"rate_limit_error"},"type":"error"}`
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "3" || string(body) != want {
			t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
		}
	})
	t.Run("error in mid-stream", func(t *testing.T) {
		s := start(t)
		s.Enqueue(Step{Blocks: []Block{Text("so f"), StreamError("overloaded_error", "busy")}})
		events, err := stream(t, post(t, s, anthropicPath, `{"model":"m","stream":true,"messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		if last := string(events[len(events)-1]); !strings.Contains(last, "overloaded_error") {
			t.Errorf("the stream ends with %s", last)
		}
	})
	t.Run("drop", func(t *testing.T) {
		s := start(t)
		s.Enqueue(Step{Blocks: []Block{Text("so far")}, Drop: true})
		events, err := stream(t, post(t, s, anthropicPath, `{"model":"m","stream":true,"messages":[]}`))
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(events) == 0 {
			t.Errorf("%d events, then %v", len(events), err)
		}
	})
	t.Run("hang", func(t *testing.T) {
		s := start(t)
		s.Enqueue(Step{Hang: true}, Step{Delay: time.Hour})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+anthropicPath, strings.NewReader(`{"model":"m","messages":[]}`))
			if err != nil {
				t.Fatal(err)
			}
			if res, err := http.DefaultClient.Do(req); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("answered %v, %v", res, err)
			}
		}
	})
	t.Run("nonsense", func(t *testing.T) {
		s := start(t)
		if res := post(t, s, anthropicPath, `{"model":`); res.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d", res.StatusCode)
		}
		if res := post(t, s, "/v1/embeddings", `{}`); res.StatusCode != http.StatusNotFound {
			t.Errorf("status %d", res.StatusCode)
		}
	})
}
