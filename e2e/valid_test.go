package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

// If a request breaks one of these rules, the real provider answers with 400.
func checkValid(t *testing.T, r *mockllm.Request) {
	t.Helper()
	turns := turnsOf(r)
	checkRoles(t, r, turns)
	checkArcs(t, r, turns)
	checkBlocks(t, r)
	checkThinkingComesFirst(t, r)
}

// In the OpenAI dialect, each result is a message of its own. turnsOf joins successive results.
func turnsOf(r *mockllm.Request) (turns []mockllm.Message) {
	for _, m := range r.Messages {
		if n := len(turns); m.Role == "tool" && n > 0 && turns[n-1].Role == "tool" {
			turns[n-1].Content = append(slices.Clip(turns[n-1].Content), m.Content...)
			continue
		}
		turns = append(turns, m)
	}
	return turns
}

// The first message must be the user's. The last message must not be an answer, because then there would be nothing for
// the model to answer. In OpenCode's requests to Anthropic, the roles must also alternate.
func checkRoles(t *testing.T, r *mockllm.Request, turns []mockllm.Message) {
	t.Helper()
	if len(turns) == 0 {
		t.Errorf("request %d has no messages", r.Seq)
		return
	}
	if role := turns[0].Role; role != "user" {
		t.Errorf("request %d: the first message is of role %s", r.Seq, role)
	}
	if role := turns[len(turns)-1].Role; role == "assistant" {
		t.Errorf("request %d: the last message is of role %s", r.Seq, role)
	}
	if r.Dialect != mockllm.Anthropic || r.IsPi() {
		return // Anthropic joins neighbouring messages of one role, and Pi relies on that
	}
	for i := 1; i < len(turns); i++ {
		if turns[i].Role == turns[i-1].Role {
			t.Errorf("request %d: messages %d and %d are both of role %s", r.Seq, i-1, i, turns[i].Role)
		}
	}
}

// Each call must have its result in the next message, and each result its call in the message before. The ids of calls
// must be unique.
func checkArcs(t *testing.T, r *mockllm.Request, turns []mockllm.Message) {
	t.Helper()
	var open []string // the calls of the previous message
	seen := map[string]bool{}
	for i, m := range turns {
		var calls []string
		for _, c := range m.Content {
			switch c.Type {
			case "tool_use":
				if seen[c.ID] {
					t.Errorf("request %d, message %d: another call has the id %s", r.Seq, i, c.ID)
				}
				seen[c.ID] = true
				calls = append(calls, c.ID)
			case "tool_result":
				at := slices.Index(open, c.ID)
				if at < 0 {
					t.Errorf("request %d, message %d: result %s has no call right before it", r.Seq, i, c.ID)
					continue
				}
				open = slices.Delete(open, at, at+1)
			}
		}
		if len(open) > 0 {
			t.Errorf("request %d, message %d: calls %v have no result", r.Seq, i, open)
		}
		open = calls
	}
	if len(open) > 0 {
		t.Errorf("request %d: calls %v have no result", r.Seq, open)
	}
}

func checkBlocks(t *testing.T, r *mockllm.Request) {
	t.Helper()
	for i, m := range r.Messages {
		if len(m.Content) == 0 {
			t.Errorf("request %d, message %d (%s) has no content", r.Seq, i, m.Role)
		}
		calls := slices.ContainsFunc(m.Content, func(c mockllm.Content) bool { return c.Type == "tool_use" })
		for j, c := range m.Content {
			// In the OpenAI dialect, a message with calls may have an empty text.
			isNone := r.Dialect == mockllm.OpenAI && calls && c.Text == ""
			if c.Type == "text" && strings.TrimSpace(c.Text) == "" && !isNone {
				t.Errorf("request %d, message %d (%s): text %d is blank", r.Seq, i, m.Role, j)
			}
		}
	}
}

func checkThinkingComesFirst(t *testing.T, r *mockllm.Request) {
	t.Helper()
	for i, m := range r.Messages {
		for j, c := range m.Content {
			if j > 0 && isThinking(c) {
				t.Errorf("request %d, message %d: thinking is block %d", r.Seq, i, j)
			}
		}
	}
}

func isThinking(c mockllm.Content) bool {
	return c.Type == "thinking" || c.Type == "redacted_thinking"
}
