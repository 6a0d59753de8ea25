package main

import (
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

func user(texts ...string) (messages []mockllm.Message) {
	var content []mockllm.Content
	for _, text := range texts {
		content = append(content, mockllm.Content{Type: "text", Text: text})
	}
	return []mockllm.Message{{Role: "user", Content: content}}
}

func assistant(text, id string) []mockllm.Message {
	m := mockllm.Message{Role: "assistant", Content: []mockllm.Content{{Type: "text", Text: text}}}
	if id != "" {
		m.Content = append(m.Content, mockllm.Content{Type: "tool_use", ID: id, Name: "read"})
	}
	return []mockllm.Message{m}
}

func output(id, text string) []mockllm.Message {
	return []mockllm.Message{{Role: "user", Content: []mockllm.Content{{Type: "tool_result", ID: id, Text: text}}}}
}

func conversation(parts ...[]mockllm.Message) (all []mockllm.Message) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestPosition(t *testing.T) {
	for name, tt := range map[string]struct {
		messages []mockllm.Message
		want     place // the zero value stands for an unknown place
	}{
		"a prompt":   {user("Turn 1: begin"), place{1, 0}},
		"two digits": {user("Turn 17: go on"), place{17, 0}},
		"an open call": {
			conversation(user("Turn 2: go on"), assistant("Turn 2, step 1: first", "toolu_turn002_step1"), output("toolu_turn002_step1", "entry 9.9")),
			place{2, 1},
		},
		"a call whose text was dropped": {
			conversation(user("Turn 2: go on"), assistant("[dropped §4§]", "toolu_turn002_step4"), output("toolu_turn002_step4", "")),
			place{2, 4},
		},
		"a call that was dropped, not its text": {
			conversation(user("Turn 2: go on"), assistant("§4§ Turn 2, step 4: then", "")),
			place{2, 4},
		},
		"a tagged prompt":   {user("§12§ Turn 3: go on"), place{3, 0}},
		"a finished turn":   {conversation(user("Turn 3: go on"), assistant("Turn 3 is done: well", "")), place{3, done}},
		"a foreign output":  {conversation(user("Turn 3: go on"), output("toolu_x", "Turn 9, step 2")), place{3, 0}},
		"compaction within": {conversation(user("What did we do so far?"), assistant("Turn 3, step 2 was the last.", ""), user("Continue.")), place{3, 2}},
		"compaction with a tail": {
			conversation(user("What did we do so far?"), assistant("Turn 3, step 5 was the last.", ""),
				user("Turn 5: go on"), assistant("Turn 5 is done: well", ""), user("Continue.")),
			place{5, done},
		},
		"a summary that knows less than the conversation": {
			user("Turn 4: go on\nTurn 4, step 3: then\n<previous-summary>Turn 2, step 1 was the last.</previous-summary>"),
			place{4, 3},
		},
		"prompts that have become neighbours": {user("Turn 4: go on", "Turn 5: go on", "a reminder"), place{5, 0}},
		"a prompt that was repeated": {
			conversation(user("Turn 4: go on"), assistant("Turn 4, step 3: then", "toolu_turn004_step3"), user("Turn 4: go on")),
			place{4, 0},
		},
		"another conversation": {user("Generate a title"), place{}},
		"nothing":              {nil, place{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := position(tt.messages)
			if got != tt.want || ok != (tt.want != place{}) {
				t.Errorf("position is %v, %t, want %v", got, ok, tt.want)
			}
		})
	}
}
