package rawhistory

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

// The file name of a Codex log contains the time and the id of the session. All archived logs are in one directory.
var codexLog = logFormat{
	name:    "Codex",
	dirs:    func(r Reader) []string { return r.below("CODEX_HOME", ".codex") },
	names:   []string{"archived_sessions/rollout-*-%.jsonl", "sessions/*/*/*/rollout-*-%.jsonl"},
	head:    codexHead,
	steps:   codexSteps,
	message: codexMessage,
}

// Each line of the log is a codexLine, an envelope with one item. Before September 2025, a line was the item itself.
type codexLine struct {
	Timestamp string     `json:"timestamp"`
	Type      string     `json:"type"`
	Payload   json.Value `json:"payload"`
}

// A codexItem is a text of the model or the user, a call, or a result. The log also has lines of the type event_msg.
// They only repeat items, so we ignore them.
type codexItem struct {
	timestamp string
	Type      string       `json:"type"`
	Role      string       `json:"role"`
	ID        string       `json:"id"`
	CallID    string       `json:"call_id"`
	Name      string       `json:"name"`
	Arguments json.Value   `json:"arguments"`
	Input     json.Value   `json:"input"`
	Action    json.Value   `json:"action"`
	Content   json.Value   `json:"content"`
	Summary   []codexBlock `json:"summary"`
	Output    json.Value   `json:"output"`
}

type codexBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
}

// codexItemIn returns nil if the line has no item, and an error if the line is not JSON.
func codexItemIn(line []byte) (*codexItem, error) {
	var l codexLine
	var item codexItem
	err := json.Unmarshal(line, &l)
	raw := l.Payload
	if err == nil {
		switch {
		case l.Payload == nil:
			raw = line
		case l.Type != "response_item":
			return nil, nil
		}
		err = json.Unmarshal(raw, &item)
	}
	if err != nil {
		if json.IsValid(line) || len(bytes.TrimSpace(line)) == 0 {
			return nil, nil
		}
		return nil, err
	}
	if item.timestamp = l.Timestamp; item.CallID == "" {
		item.CallID = item.ID
	}
	return &item, nil
}

var codexDirectory = regexp.MustCompile(`<cwd>([^<]+)</cwd>|Current working directory: ([^\n]+)`)

func codexHead(number int, line []byte, h *logHead) bool {
	var l codexLine
	if json.Unmarshal(line, &l) != nil {
		return false
	}
	var meta struct {
		ID     string     `json:"id"`
		CWD    string     `json:"cwd"`
		Source json.Value `json:"source"`
	}
	if number == 1 {
		raw := l.Payload
		if l.Type == "" {
			raw = line
		} else if l.Type != "session_meta" {
			return false
		}
		if json.Unmarshal(raw, &meta) != nil || meta.ID == "" || !strings.HasSuffix(h.id, "-"+meta.ID) {
			return false
		}
		var source struct {
			Subagent json.Value `json:"subagent"`
		}
		_ = json.Unmarshal(meta.Source, &source) // most sources are names
		h.id, h.directory, h.isSubagent = meta.ID, meta.CWD, source.Subagent != nil
		return true
	}
	if l.Type == "turn_context" {
		_ = json.Unmarshal(l.Payload, &meta)
		h.directory = meta.CWD
	} else if item, _ := codexItemIn(line); item != nil && item.Type == "message" && item.Role == "user" {
		if parts := codexParts(item.Content); len(parts) > 0 {
			if m := codexDirectory.FindStringSubmatch(parts[0].Text); m != nil {
				h.directory = m[1] + m[2]
			}
		}
	}
	return true
}

// codexSteps reads the steps of a log. The messages have no ids, but a log only grows, so the offset of a step in the
// file serves as its key.
func codexSteps(ctx context.Context, file io.ReaderAt, size int64) (steps []logStep, err error) {
	byCall := map[string]int{}
	answer := -1 // the step of the answer that has not ended
	err = eachLine(ctx, file, size, func(_ int, line []byte, at span) error {
		item, err := codexItemIn(line)
		if err != nil {
			steps, answer = append(steps, logStep{}), -1
			return nil
		}
		if item == nil {
			return nil
		}
		switch {
		case item.Type == "message" && item.Role == "user":
			steps, answer = append(steps, logStep{key: strconv.FormatInt(at.offset, 10), lines: []span{at}}), -1
		case item.isResult():
			if n, ok := byCall[item.CallID]; ok && steps[n].fits(at) {
				steps[n].add(&steps[n].results, at)
				delete(byCall, item.CallID)
			}
			answer = -1
		case item.isAnswer():
			if answer < 0 || !steps[answer].fits(at) {
				answer = len(steps)
				steps = append(steps, logStep{key: strconv.FormatInt(at.offset, 10)})
			}
			steps[answer].add(&steps[answer].lines, at)
			if item.CallID != "" {
				byCall[item.CallID] = answer
			}
		}
		return nil
	})
	return steps, err
}

func (i *codexItem) isResult() bool {
	return i.Type == "function_call_output" || i.Type == "custom_tool_call_output"
}

func (i *codexItem) isAnswer() bool {
	switch i.Type {
	case "message":
		return i.Role == "assistant"
	case "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call":
		return true
	}
	return false
}

func codexMessage(key string, lines, results [][]byte) json.Value {
	m := logMessage{Role: "assistant", StopReason: "stop"}
	for _, line := range lines {
		item, err := codexItemIn(line)
		if err != nil || item == nil {
			return nil
		}
		if item.Role == "user" {
			return piStepOf(key, promptOf(codexParts(item.Content), true, item.timestamp), nil)
		}
		if m.Timestamp == nil {
			m.Timestamp = unixMilliseconds(item.timestamp)
		}
		switch item.Type {
		case "message":
			m.Content = append(m.Content, codexParts(item.Content)...)
		case "reasoning":
			for _, s := range item.Summary {
				m.Content = append(m.Content, logBlock{Type: "thinking", Thinking: s.Text})
			}
		default:
			m.Content = append(m.Content, item.call())
		}
	}
	var all []logResult
	for _, line := range results {
		if item, _ := codexItemIn(line); item != nil {
			all = append(all, item.result())
		}
	}
	return piStepOf(key, m, all)
}

func codexParts(content json.Value) (parts []logBlock) {
	var blocks []codexBlock
	_ = json.Unmarshal(content, &blocks) // a content of another form has no parts
	for _, b := range blocks {
		switch {
		case b.ImageURL != "":
			mime, data, _ := strings.Cut(strings.TrimPrefix(b.ImageURL, "data:"), ";base64,")
			parts = append(parts, logBlock{Type: "image", MimeType: mime, Data: data})
		case b.Type == "input_text", b.Type == "output_text", b.Type == "text":
			parts = append(parts, logBlock{Type: "text", Text: b.Text})
		}
	}
	return parts
}

// The method `call` converts a call to the form that all harnesses share. If the command is a list of words, the method
// joins the words to one text. The argument of a patch gets the name that other harnesses use.
func (i *codexItem) call() logBlock {
	b := logBlock{Type: "toolCall", ID: i.CallID, Name: i.Name, Arguments: i.Arguments}
	var text string
	switch i.Type {
	case "local_shell_call":
		b.Name, b.Arguments = "local_shell", i.Action
	case "web_search_call":
		b.Name, b.Arguments = "web_search", i.Action
	case "custom_tool_call":
		b.Arguments = object("input", i.Input)
	default:
		if json.Unmarshal(i.Arguments, &text) == nil && json.IsValid([]byte(text)) {
			b.Arguments = json.Value(text)
		}
	}
	var a struct {
		Command json.Value `json:"command"`
		Workdir json.Value `json:"workdir"`
		Input   json.Value `json:"input"`
	}
	_ = json.Unmarshal(b.Arguments, &a) // other arguments stay as they are
	var command string
	var words []string
	if json.Unmarshal(a.Command, &words) == nil && len(words) > 0 {
		command = commandOf(words)
		b.Arguments = object("command", json.Quote(command), "workdir", a.Workdir)
	} else if json.Unmarshal(a.Command, &command) != nil && b.Name == "apply_patch" {
		_ = json.Unmarshal(a.Input, &command) // without a patch, the arguments stay as they are
	}
	if strings.Contains(command, "*** Begin Patch\n") {
		b.Name, b.Arguments = "apply_patch", object("patchText", json.Quote(command))
	}
	return b
}

// commandOf returns the command line as a user would type it, for example "make test" for the words "bash", "-lc",
// "make test".
func commandOf(words []string) string {
	if len(words) == 3 && (words[1] == "-lc" || words[1] == "-c") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// codexExit matches the beginning of a command's result, which contains the exit status.
var codexExit = regexp.MustCompile(`\A(?:(?:Chunk ID|Wall time|Original token count): [^\n]*\n)*(?:Exit code: |Process exited with code )(-?\d{1,9})\n`)

func (i *codexItem) result() logResult {
	r := logResult{ToolCallID: i.CallID, Content: i.Output, Timestamp: unixMilliseconds(i.timestamp)}
	var text string
	if i.Output.Kind() == '[' {
		r.Content, _ = json.Marshal(codexParts(i.Output)) // texts always encode
	} else if json.Unmarshal(i.Output, &text) != nil {
		text = string(i.Output)
		r.Content = json.Quote(text)
	}
	var wrapped struct {
		Output   *string `json:"output"`
		Content  *string `json:"content"`
		Success  *bool   `json:"success"`
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	}
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &wrapped) == nil {
		switch r.ExitCode = wrapped.Metadata.ExitCode; {
		case wrapped.Output != nil && wrapped.Metadata.ExitCode != nil:
			r.Content = json.Quote(*wrapped.Output)
		case wrapped.Content != nil && wrapped.Success != nil:
			r.Content, r.IsError = json.Quote(*wrapped.Content), !*wrapped.Success
		}
	} else if m := codexExit.FindStringSubmatch(text); m != nil {
		r.ExitCode = number(m[1])
	}
	r.IsError = r.IsError || r.ExitCode != nil && *r.ExitCode != 0 || strings.HasPrefix(text, "apply_patch verification failed")
	return r
}
