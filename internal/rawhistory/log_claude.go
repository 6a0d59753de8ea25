package rawhistory

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/json"
)

var claudeLog = logFormat{
	name:    "Claude Code",
	dirs:    func(r Reader) []string { return r.below("CLAUDE_CONFIG_DIR", ".claude", ".config/claude") },
	names:   []string{"projects/*/%.jsonl"},
	head:    claudeHead,
	steps:   claudeSteps,
	message: claudeMessage,
}

// Lines with a UUID form a tree.
type claudeLine struct {
	Type              string     `json:"type"`
	Subtype           string     `json:"subtype"`
	UUID              string     `json:"uuid"`
	ParentUUID        *string    `json:"parentUuid"`
	LogicalParentUUID *string    `json:"logicalParentUuid"`
	IsSidechain       bool       `json:"isSidechain"`
	IsMeta            bool       `json:"isMeta"`
	IsCompactSummary  bool       `json:"isCompactSummary"`
	IsForView         bool       `json:"isVisibleInTranscriptOnly"`
	IsError           bool       `json:"isApiErrorMessage"`
	Timestamp         string     `json:"timestamp"`
	CWD               string     `json:"cwd"`
	Message           json.Value `json:"message"`
	Origin            json.Value `json:"origin"`
	Attachment        json.Value `json:"attachment"`
}

type claudeBody struct {
	ID      string     `json:"id"`
	Model   string     `json:"model"`
	Content json.Value `json:"content"`
}

type claudeBlock struct {
	Type      string     `json:"type"`
	Text      string     `json:"text"`
	Thinking  string     `json:"thinking"`
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Input     json.Value `json:"input"`
	ToolUseID string     `json:"tool_use_id"`
	IsError   bool       `json:"is_error"`
	Content   json.Value `json:"content"`
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

func blocksOf(content json.Value) (blocks []claudeBlock) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	var all []json.Value
	_ = json.Unmarshal(content, &all) // a content of another form has no parts
	for _, raw := range all {
		var b claudeBlock
		if json.Unmarshal(raw, &b) == nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// The method `body` returns the message in the line. If the user typed a prompt while the model worked, Claude Code has
// stored the prompt as an attachment, so the method also looks there.
func (l *claudeLine) body() (b claudeBody) {
	_ = json.Unmarshal(l.Message, &b) // a message of another form is empty
	if l.Type != "attachment" {
		return b
	}
	var a struct {
		Type        string     `json:"type"`
		CommandMode string     `json:"commandMode"`
		Prompt      json.Value `json:"prompt"`
		Origin      json.Value `json:"origin"`
	}
	if json.Unmarshal(l.Attachment, &a) == nil && a.Type == "queued_command" && a.CommandMode == "prompt" {
		b.Content, l.Origin = a.Prompt, a.Origin
	}
	return b
}

// isTyped reports whether the user wrote the texts of a prompt. Older versions of Claude Code do not store who wrote
// them. In that case, isTyped assumes that the user did, unless the prompt also contains results of tools: Claude Code
// adds texts of its own to results.
func (l *claudeLine) isTyped(blocks []claudeBlock) bool {
	var origin struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(l.Origin, &origin)
	if origin.Kind == "" {
		return !l.IsMeta && !slices.ContainsFunc(blocks, func(b claudeBlock) bool { return b.Type == "tool_result" })
	}
	return !l.IsMeta && origin.Kind == "human"
}

func claudeHead(_ int, line []byte, h *logHead) bool {
	var l struct {
		Type        string `json:"type"`
		CWD         string `json:"cwd"`
		IsSidechain bool   `json:"isSidechain"`
	}
	if json.Unmarshal(line, &l) != nil || l.Type == "" {
		return false
	}
	h.directory, h.isSubagent = l.CWD, l.IsSidechain
	return true
}

type claudeEntry struct {
	span
	kind claudeKind
	key  string
	// isPrompt means that the line holds other content than results.
	isPrompt bool
	// `parent` is the index of the line before this one on its branch, or -1.
	parent int
	// `calls` contains the ids of the calls in the line. If the line contains results instead, it contains the ids of
	// the calls to which they belong.
	calls []string
}

type claudeKind uint8

const (
	claudeSilent claudeKind = iota
	claudeAnswer
	claudeUser // a prompt, results, or both
	claudeBroken
)

// claudeSteps returns the messages of the branch that ends with the newest message. One answer may consist of several
// lines with the same id. The results of parallel calls belong to the answer even if they are on another branch.
func claudeSteps(ctx context.Context, file io.ReaderAt, size int64) (steps []logStep, err error) {
	var entries []claudeEntry
	byID := map[string]int{}
	err = eachLine(ctx, file, size, func(_ int, line []byte, at span) error {
		if e, id, ok := claudeEntryOf(line, byID, len(entries)-1); ok {
			if e.span = at; id != "" {
				byID[id] = len(entries)
			}
			entries = append(entries, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	leaf := len(entries) - 1
	for leaf >= 0 && (entries[leaf].kind == claudeSilent || entries[leaf].kind == claudeBroken) {
		leaf--
	}
	isOn, answers := make([]bool, len(entries)), map[string]bool{}
	for i := leaf; i >= 0; i = entries[i].parent {
		if isOn[i] = true; entries[i].kind == claudeAnswer {
			answers[entries[i].key] = true
		}
	}
	byAnswer, byCall := map[string]int{}, map[string]int{}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.kind == claudeBroken:
			steps = append(steps, logStep{})
		case e.kind == claudeAnswer && answers[e.key]:
			n, ok := byAnswer[e.key]
			if !ok || !steps[n].fits(e.span) {
				n = len(steps)
				byAnswer[e.key] = n
				steps = append(steps, logStep{key: e.key})
			}
			steps[n].add(&steps[n].lines, e.span)
			for _, call := range e.calls {
				byCall[call] = n
			}
		case e.kind == claudeUser:
			for _, call := range e.calls {
				if n, ok := byCall[call]; ok && steps[n].fits(e.span) {
					steps[n].add(&steps[n].results, e.span)
					delete(byCall, call)
				}
			}
			if e.isPrompt && isOn[i] {
				steps = append(steps, logStep{key: e.key, lines: []span{e.span}})
			}
		}
	}
	return steps, nil
}

// claudeEntryOf describes a line. If the line belongs to no branch, ok is false. `last` is the index of the entry
// before the line. If the line names a parent that is not in the file, claudeEntryOf uses `last` as the parent, because
// the entry before a line is most likely its parent.
func claudeEntryOf(line []byte, byID map[string]int, last int) (e claudeEntry, id string, ok bool) {
	var l claudeLine
	if err := json.Unmarshal(line, &l); err != nil {
		isBroken := len(bytes.TrimSpace(line)) > 0 && !json.IsValid(line)
		return claudeEntry{kind: claudeBroken, parent: last}, "", isBroken
	}
	if _, isCopy := byID[l.UUID]; l.UUID == "" || isCopy || l.IsSidechain {
		return e, "", false
	}
	e.key, e.parent = l.UUID, -1
	for _, parent := range []*string{l.LogicalParentUUID, l.ParentUUID} {
		if parent == nil {
			continue
		}
		if e.parent = last; *parent != "" {
			if i, known := byID[*parent]; known {
				e.parent = i
			}
		}
	}
	if l.Subtype == "compact_boundary" && e.parent < 0 {
		e.parent = last
	}
	body := l.body()
	blocks := blocksOf(body.Content)
	switch {
	case len(blocks) == 0, l.IsCompactSummary, l.IsForView:
	case l.Type == "assistant":
		e.kind = claudeAnswer
		if body.ID != "" {
			e.key = body.ID
		}
		for i := range blocks {
			if blocks[i].Name != "" {
				e.calls = append(e.calls, blocks[i].ID)
			}
		}
	case l.Type == "user", l.Type == "attachment":
		e.kind = claudeUser
		for i := range blocks {
			if blocks[i].Type != "tool_result" {
				e.isPrompt = true
				continue
			}
			e.calls = append(e.calls, blocks[i].ToolUseID)
		}
	}
	return e, l.UUID, true
}

func claudeMessage(key string, lines, results [][]byte) json.Value {
	m := logMessage{Role: "assistant", StopReason: "stop"}
	names := map[string]string{}
	for _, line := range lines {
		var l claudeLine
		if json.Unmarshal(line, &l) != nil {
			return nil
		}
		body := l.body()
		blocks := blocksOf(body.Content)
		if l.Type != "assistant" {
			return piStepOf(key, promptOf(claudeParts(blocks), l.isTyped(blocks), l.Timestamp), nil)
		}
		if l.IsError || body.Model == "<synthetic>" { // no model wrote it
			m.StopReason = "error"
		}
		if m.Timestamp == nil {
			m.Timestamp = unixMilliseconds(l.Timestamp)
		}
		for i := range blocks {
			names[blocks[i].ID] = blocks[i].Name
		}
		m.Content = append(m.Content, claudeParts(blocks)...)
	}
	var all []logResult
	for _, line := range results {
		var l claudeLine
		if json.Unmarshal(line, &l) != nil {
			continue
		}
		for _, b := range blocksOf(l.body().Content) {
			name, isOurs := names[b.ToolUseID]
			if b.Type != "tool_result" || !isOurs {
				continue
			}
			r := logResult{ToolCallID: b.ToolUseID, Content: b.Content, IsError: b.IsError, Timestamp: unixMilliseconds(l.Timestamp)}
			if r.Content.Kind() != '"' && r.Content.Kind() != '[' {
				r.Content = json.Value(`""`)
			}
			if name == "Bash" {
				r.ExitCode = exitOfClaude(&b)
			}
			all = append(all, r)
		}
	}
	return piStepOf(key, m, all)
}

// claudeParts leaves out results and hidden thinking.
func claudeParts(blocks []claudeBlock) (parts []logBlock) {
	for i := range blocks {
		switch b := &blocks[i]; b.Type {
		case "text":
			parts = append(parts, logBlock{Type: "text", Text: b.Text})
		case "thinking":
			parts = append(parts, logBlock{Type: "thinking", Thinking: b.Thinking})
		case "tool_use", "server_tool_use":
			parts = append(parts, logBlock{Type: "toolCall", ID: b.ID, Name: b.Name, Arguments: b.Input})
		case "image", "document":
			parts = append(parts, logBlock{Type: "image", MimeType: b.Source.MediaType, Data: b.Source.Data})
		}
	}
	return parts
}

// exitOfClaude returns the exit status of a command. If the command failed, the text of its result names
// the status. A command in the background has no status yet. A refused or stopped command never has one.
func exitOfClaude(result *claudeBlock) *int {
	text := ""
	if blocks := blocksOf(result.Content); len(blocks) > 0 {
		text = blocks[0].Text
	}
	if !result.IsError {
		if inBackground.MatchString(text) {
			return nil
		}
		return new(int)
	}
	if m := claudeExit.FindStringSubmatch(text); m != nil {
		return number(m[1])
	}
	return nil
}

var (
	claudeExit   = regexp.MustCompile(`^(?:Error: )?Exit code (\d{1,9})\b`)
	inBackground = regexp.MustCompile(`^Command (?:running|was manually backgrounded)`)
	// userRan finds the command that the user ran in Claude Code or in Codex, and for Codex also its result.
	userRan = regexp.MustCompile(`(?s)^\s*(?:<bash-input>(.*)</bash-input>\s*$|<user_shell_command>\s*<command>\n(.*?)\n</command>\s*<result>\s*Exit code: (-?\d{1,9})\n(.*?)</result>\s*</user_shell_command>\s*$)`)
)

func number(digits string) *int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return nil
	}
	return &n
}
