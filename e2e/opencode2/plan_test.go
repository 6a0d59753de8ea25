package opencode2_test

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/replay"
)

// A plannedStep is one step of a wire that the host has made, reduced to the fields that reach the provider.
type plannedStep struct {
	Message entry   `json:"message"`
	Results []entry `json:"results"`
}

type entry struct {
	Role    string `json:"role"`
	Content []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		ID     string `json:"id"`
		Result struct {
			Type  string     `json:"type"`
			Value json.Value `json:"value"`
		} `json:"result"`
	} `json:"content"`
}

// For each pass of a trace, the provider must have received exactly the planned content, in order.
func (w *world) sentAsPlanned(path string) {
	w.t.Helper()
	trace, err := os.ReadFile(path)
	check(w.t, err)
	passes := 0
	check(w.t, replay.Recorded(bytes.NewReader(trace), func(session string, _, wire []json.Value) error {
		passes++
		planned, err := planOf(wire)
		if err != nil {
			return err
		}
		var nearest []string
		for _, r := range w.mock.Requests() {
			if r.Session() != session {
				continue
			}
			sent := contentsOf(r)
			if slices.Equal(sent, planned) {
				return nil
			}
			nearest = sent
		}
		w.t.Errorf("pass %d of %s was not sent as planned:\n%s\nbut the newest request is\n%s", passes, session, strings.Join(planned, "\n"), strings.Join(nearest, "\n"))
		return nil
	}))
	if passes < 30 {
		w.t.Errorf("only %d passes were compared", passes)
	}
}

func planOf(wire []json.Value) (contents []string, err error) {
	for _, raw := range wire {
		var step plannedStep
		if err := json.Unmarshal(raw, &step); err != nil {
			return nil, err
		}
		for _, e := range append([]entry{step.Message}, step.Results...) {
			for _, p := range e.Content {
				switch {
				case p.Type == "text" && e.Role == "system":
					contents = append(contents, "text <system-update>")
				case p.Type == "text":
					contents = append(contents, "text "+p.Text)
				case p.Type == "reasoning":
					contents = append(contents, "thinking "+p.Text)
				case p.Type == "tool-call":
					contents = append(contents, "tool_use "+p.ID)
				case p.Type == "tool-result":
					contents = append(contents, "tool_result "+p.ID+resultText(p.Result.Type, p.Result.Value))
				case p.Type == "media":
					contents = append(contents, "image ")
				}
			}
		}
	}
	return contents, nil
}

// resultText returns "" for all values that are not texts, because the test does not check the forms in which OpenCode
// encodes them.
func resultText(kind string, value json.Value) (text string) {
	if kind == "text" && json.Unmarshal(value, &text) == nil {
		return " " + text
	}
	return ""
}

func contentsOf(r *mockllm.Request) (contents []string) {
	for _, m := range r.Messages {
		for _, c := range m.Content {
			switch {
			case c.Type == "tool_use":
				contents = append(contents, "tool_use "+c.ID)
			case c.Type == "tool_result" && !strings.HasPrefix(c.Text, "{"):
				contents = append(contents, "tool_result "+c.ID+" "+c.Text)
			case c.Type == "tool_result":
				contents = append(contents, "tool_result "+c.ID)
			case strings.HasPrefix(c.Text, "<system-update>"):
				contents = append(contents, "text <system-update>")
			default:
				contents = append(contents, c.Type+" "+c.Text)
			}
		}
	}
	return contents
}
