package transcript

import (
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// Pi reads the steps of Pi, versions 0.74 to 1.5 (docs/pi.md). In Pi's array, an answer and the results of its calls
// are separate messages. The host expects a call and its result in one message. So the shim joins an answer with the
// tool results directly after it into one step, and separates them again afterwards. Every other message is a step by
// itself.
type Pi struct{}

var _ Codec = Pi{}

type piStep struct {
	ID      string       `json:"id"`
	Message piMessage    `json:"message"`
	Results []json.Value `json:"results"`
}

type piMessage struct {
	Role      string     `json:"role"`
	Content   json.Value `json:"content"`
	Timestamp float64    `json:"timestamp"`

	// The fields of an answer.
	Provider     string  `json:"provider"`
	Model        string  `json:"model"`
	StopReason   string  `json:"stopReason"`
	ErrorMessage string  `json:"errorMessage"`
	Usage        piUsage `json:"usage"`

	// The fields of a command that the user has run.
	Command            string     `json:"command"`
	Output             string     `json:"output"`
	ExitCode           json.Value `json:"exitCode"`
	Cancelled          bool       `json:"cancelled"`
	Truncated          bool       `json:"truncated"`
	FullOutputPath     string     `json:"fullOutputPath"`
	ExcludeFromContext bool       `json:"excludeFromContext"`

	// Summary is the text of a message that summarises the session or a branch.
	Summary string `json:"summary"`
}

type piUsage struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

type piBlock struct {
	Type              string     `json:"type"`
	Text              string     `json:"text"`
	Thinking          string     `json:"thinking"`
	ThinkingSignature json.Value `json:"thinkingSignature"`
	Redacted          bool       `json:"redacted"`
	ID                string     `json:"id"`
	Name              string     `json:"name"`
	Arguments         json.Value `json:"arguments"`
	Data              string     `json:"data"`
	MimeType          string     `json:"mimeType"`
}

type piResult struct {
	ToolCallID string     `json:"toolCallId"`
	Content    json.Value `json:"content"`
	IsError    bool       `json:"isError"`
	Timestamp  float64    `json:"timestamp"`
}

func (Pi) Decode(raw json.Value) Message {
	var step piStep
	if err := json.Unmarshal(raw, &step); err != nil {
		return Message{Parts: []Part{{Kind: Other, Raw: raw}}}
	}
	return decodePiStep(&step, raw)
}

func decodePiStep(step *piStep, raw json.Value) Message {
	m := &step.Message
	msg := Message{Key: step.ID, Role: User, KeyLasts: true, Created: int64(m.Timestamp)}
	switch m.Role {
	case "assistant":
		decodePiAnswer(&msg, step)
	case "user":
		msg.Parts = decodePiContent(m.Content)
		for i := range msg.Parts {
			if p := &msg.Parts[i]; p.Kind == Text {
				p.Origin, p.Attached = FromUser, attachedTo(p.Text)
			}
		}
	case "custom":
		// After a restart, Pi gives this message another time.
		msg.Created = 0
		msg.Parts = decodePiContent(m.Content)
	case "bashExecution":
		msg.Hidden = m.ExcludeFromContext
		msg.Parts = decodePiCommand(m)
	case "compactionSummary", "branchSummary":
		// The summary of a branch summarises messages of another branch.
		msg.Summary = m.Role == "compactionSummary"
		if m.Role == "branchSummary" {
			msg.Created = 0 // after a restart, Pi gives this message another time
		}
		msg.Parts = []Part{{Kind: Text, Origin: FromAgent, Path: "/message/summary", Text: m.Summary, TextPath: "/message/summary"}}
		if strings.TrimSpace(m.Summary) == "" { // Pi still sends its own sentence around the empty summary
			msg.Parts = []Part{{Kind: Other, Path: "/message", Raw: raw}}
		}
	case "":
		// The message was removed from the wire, or raw is not a step.
		msg.Role = ""
		if len(m.Content) > 0 {
			msg.Parts = []Part{{Kind: Other, Path: "/message", Raw: raw}}
		}
	default:
		// The message is a result without an answer before it, or it has a role that only a later version of Pi knows.
		// Its only part has the kind Other, so that no patch changes it.
		msg.Parts = []Part{{Kind: Other, Path: "/message", Raw: raw}}
	}
	return msg
}

// attachedTo returns the length of the files and skills at the start of a prompt. Pi puts each of them into an element,
// for example `<file name="/a.go">`. Pi does not escape the content, so a file may itself contain an end tag, and only
// the last end tag certainly ends the files and skills. Text that was piped into Pi comes before the files, so it is
// included in the length.
func attachedTo(prompt string) (length int) {
	if end := strings.LastIndex(prompt, "</file>\n"); end > 0 && strings.Contains(prompt[:end], `<file name="`) {
		length = end + len("</file>\n")
	}
	if end := strings.LastIndex(prompt, "</skill>"); end > 0 && strings.HasPrefix(prompt, `<skill name="`) {
		length = max(length, end+len("</skill>"))
	}
	return length
}

func decodePiAnswer(msg *Message, step *piStep) {
	m := &step.Message
	msg.Role = Assistant
	msg.Model = schema.Model{Provider: m.Provider, ID: m.Model}
	msg.Usage = Usage{
		Input: int(m.Usage.Input), Output: int(m.Usage.Output),
		CacheRead: int(m.Usage.CacheRead), CacheWrite: int(m.Usage.CacheWrite),
	}
	// Pi does not send a failed answer. Pi would still send the results of its calls, but the provider refuses results
	// without their calls. So the shim leaves these results out, too.
	msg.Errored = m.StopReason == "error" || m.StopReason == "aborted"
	msg.Hidden = msg.Errored
	msg.Finish = finishOfPi(m.StopReason)
	if msg.Finish != Unfinished {
		msg.Completed = msg.Created // Pi notes the beginning of an answer only
	}
	results, last := decodePiResults(step.Results)
	msg.Completed = max(msg.Completed, last)
	msg.Parts = attach(decodePiContent(m.Content), results)
	for i := range msg.Parts {
		if p := &msg.Parts[i]; p.ResultPath != "" && p.Name == "bash" {
			p.Exited, p.ExitStatus = exitOfPi(p)
		}
	}
}

func finishOfPi(stopReason string) Finish {
	switch stopReason {
	case "", "pending", "error", "aborted":
		return Unfinished
	case "stop":
		return EndsTurn
	case "toolUse":
		return EndsWithCalls
	}
	return EndsOtherwise
}

func decodePiContent(content json.Value) []Part {
	const path = "/message/content"
	var text string
	if content.Kind() == '"' && json.Unmarshal(content, &text) == nil {
		return []Part{piText(path, path, text)}
	}
	var blocks []json.Value
	if len(content) == 0 || content.Kind() == 'n' {
		return nil
	}
	if json.Unmarshal(content, &blocks) != nil {
		return []Part{{Kind: Other, Path: path, Raw: content}}
	}
	parts := make([]Part, len(blocks))
	for i, raw := range blocks {
		parts[i] = decodePiBlock(path+"/"+strconv.Itoa(i), raw)
	}
	return parts
}

// Pi leaves out blank texts for the providers that refuse them.
func piText(path, textPath, text string) Part {
	return Part{Kind: Text, Path: path, Text: text, TextPath: textPath, Hidden: strings.TrimSpace(text) == ""}
}

func decodePiBlock(path string, raw json.Value) Part {
	var b piBlock
	if err := json.Unmarshal(raw, &b); err != nil {
		return Part{Kind: Other, Path: path, Raw: raw}
	}
	switch b.Type {
	case "text":
		return piText(path, path+"/text", b.Text)
	case "thinking":
		p := Part{Kind: Reasoning, Path: path, Text: b.Thinking, TextPath: path + "/thinking"}
		if isPiProof(b.ThinkingSignature) {
			p.Signature = b.ThinkingSignature
		}
		if b.Redacted { // Pi has written this text itself, and no provider sees it
			p.Text, p.TextPath = "", ""
		}
		p.Hidden = strings.TrimSpace(p.Text) == "" && p.Signature == nil
		return p
	case "toolCall":
		p := Part{Kind: Tool, Path: path, Name: b.Name, CallID: b.ID, Input: b.Arguments, InputPath: path + "/arguments"}
		if p.Input == nil {
			p.Input = json.Value("{}")
		}
		return p
	case "image":
		return Part{Kind: File, Path: path, Mime: b.MimeType, URL: "data:" + b.MimeType + ";base64," + b.Data}
	}
	return Part{Kind: Other, Path: path, Raw: raw}
}

func isPiProof(signature json.Value) bool {
	return len(signature) > 0 && signature.Kind() != 'n' && string(signature) != `""`
}

// decodePiCommand reads a command that the user has run with `!`. Pi sends the command and its output in one text. Only
// the output can be tagged and dropped.
func decodePiCommand(m *piMessage) []Part {
	command, _ := json.Marshal(struct { // valid raw values and strings always encode
		Command        string     `json:"command"`
		ExitCode       json.Value `json:"exitCode,omitzero"`
		Cancelled      bool       `json:"cancelled"`
		Truncated      bool       `json:"truncated"`
		FullOutputPath string     `json:"fullOutputPath"`
	}{m.Command, m.ExitCode, m.Cancelled, m.Truncated, m.FullOutputPath})
	output := piText("/message/output", "/message/output", m.Output)
	output.Origin = FromTool
	return []Part{{Kind: Other, Path: "/message/command", Raw: command}, output}
}

func decodePiResults(raws []json.Value) (results []toolResult, last int64) {
	results = make([]toolResult, len(raws))
	for i, raw := range raws {
		var m piResult
		err := json.Unmarshal(raw, &m)
		r := &results[i]
		*r = toolResult{raw: raw, path: "/results/" + strconv.Itoa(i), callID: m.ToolCallID, isError: m.IsError}
		r.isUnreadable = err != nil || !r.readContent(r.path+"/content", m.Content, nil)
		last = max(last, int64(m.Timestamp))
	}
	return results, last
}

// exitOfPi returns the exit status of a command. Pi stores the status of a failed command only in the last line of its
// output: "Command exited with code 2". If a failed command has no such line, it was stopped before it could exit.
func exitOfPi(p *Part) (exited bool, status int) {
	if !p.IsError {
		return true, 0
	}
	i := strings.LastIndex(p.Text, "Command exited with code ")
	if i < 0 {
		return false, 0
	}
	status, err := strconv.Atoi(strings.TrimSpace(p.Text[i+len("Command exited with code "):]))
	return err == nil, status
}

func (Pi) TextPart(_ Part, text string) json.Value {
	v, _ := json.Marshal(struct { // strings always encode
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
	return v
}

// ResultText returns the patch that replaces all texts and images of a result with `text`.
func (c Pi) ResultText(p Part, text string) schema.Patch {
	if p.ResultPath == "" {
		return nil
	}
	content := "[" + string(c.TextPart(p, text)) + "]"
	return schema.Patch{{Op: "replace", Path: p.ResultPath + "/content", Value: json.Value(content)}}
}

// AddCall exists for the synthetic todo list. Pi has no todo tool, so there is no such call to add.
func (Pi) AddCall(SyntheticCall) schema.Patch { return nil }

func (Pi) UsageValue(u Usage) json.Value {
	v, _ := json.Marshal(struct { // numbers always encode
		Input       int `json:"input"`
		Output      int `json:"output"`
		CacheRead   int `json:"cacheRead"`
		CacheWrite  int `json:"cacheWrite"`
		TotalTokens int `json:"totalTokens"`
	}{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Prompt() + u.Output})
	return v
}

func (Pi) Vocabulary() *Vocabulary { return &piVocabulary }

type piEvent struct {
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Message piMessage `json:"message"`
}

// Event reads an event of Pi. The shim sends only those fields of an event that the host uses. For example, the message
// in a message_end has no content.
func (Pi) Event(raw json.Value) (Event, error) {
	var e piEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return Event{}, err
	}
	var event Event
	switch e.Type {
	case "session_info_changed":
		event.Kind, event.Title = SessionTitled, e.Name
	case "session_compact":
		event.Kind = SessionCompacted
	case "message_end":
		if e.Message.Role != "assistant" {
			return event, nil
		}
		if e.ID == "" {
			e.ID = "assistant:" + strconv.FormatInt(int64(e.Message.Timestamp), 10)
		}
		event.Kind = MessageChanged
		event.Message = decodePiStep(&piStep{ID: e.ID, Message: e.Message}, nil)
		event.Message.Parts = nil
		if event.Message.Errored {
			event.Error = json.Quote(e.Message.ErrorMessage)
		}
	}
	return event, nil
}
