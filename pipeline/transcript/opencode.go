package transcript

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// OpenCode reads the message arrays of OpenCode 1.18.
type OpenCode struct{}

var _ Codec = OpenCode{}

type ocMessage struct {
	Info  ocInfo     `json:"info"`
	Parts json.Array `json:"parts"`
}

type ocInfo struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Role      string `json:"role"`
	Time      struct {
		Created   float64 `json:"created"`
		Completed float64 `json:"completed"`
	} `json:"time"`
	// A user message names its model in this object. An assistant message names it in two separate fields.
	Model struct {
		ProviderID string `json:"providerID"`
		ModelID    string `json:"modelID"`
	} `json:"model"`
	ProviderID string          `json:"providerID"`
	ModelID    string          `json:"modelID"`
	Agent      string          `json:"agent"`
	Finish     string          `json:"finish"`
	Error      *ocError        `json:"error"`
	Tools      map[string]bool `json:"tools"`
	Summary    json.Value      `json:"summary"` // an object in user messages
	Tokens     struct {
		Input     float64 `json:"input"`
		Output    float64 `json:"output"`
		Reasoning float64 `json:"reasoning"` // Output leaves it out
		Cache     struct {
			Read  float64 `json:"read"`
			Write float64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

type ocError struct {
	Name string `json:"name"`
}

type ocPart struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Text      string     `json:"text"`
	Synthetic bool       `json:"synthetic"`
	Ignored   bool       `json:"ignored"`
	Metadata  json.Value `json:"metadata"`
	CallID    string     `json:"callID"`
	Tool      string     `json:"tool"`
	State     ocState    `json:"state"`
	Mime      string     `json:"mime"`
	URL       string     `json:"url"`
}

type ocState struct {
	Status      string     `json:"status"`
	Input       json.Value `json:"input"`
	Output      *string    `json:"output"`
	Error       *string    `json:"error"`
	Attachments json.Value `json:"attachments"`
	Metadata    json.Value `json:"metadata"`
	Time        struct {
		Compacted float64 `json:"compacted"`
	} `json:"time"`
}

func (OpenCode) Decode(raw json.Value) Message {
	var m ocMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return Message{Parts: []Part{{Kind: Other, Raw: raw}}}
	}
	msg := Message{
		Key:       m.Info.ID,
		Role:      Role(m.Info.Role),
		Created:   int64(m.Info.Time.Created),
		Completed: int64(m.Info.Time.Completed),
		Model:     schema.Model{Provider: m.Info.Model.ProviderID, ID: m.Info.Model.ModelID},
		Finish:    finishOfOpenCode(m.Info.Finish),
		Errored:   m.Info.Error != nil,
		Tools:     m.Info.Tools,
		Summary:   m.Info.Role == string(Assistant) && string(m.Info.Summary) == "true",
		Parts:     make([]Part, len(m.Parts)),
	}
	if !msg.Summary {
		t := &m.Info.Tokens
		msg.Usage = Usage{Input: int(t.Input), Output: int(t.Output + t.Reasoning), CacheRead: int(t.Cache.Read), CacheWrite: int(t.Cache.Write)}
	}
	if msg.Role == User {
		msg.Agent = m.Info.Agent
	}
	if msg.Role == Assistant {
		msg.Model = schema.Model{Provider: m.Info.ProviderID, ID: m.Info.ModelID}
	}
	for i, p := range m.Parts {
		msg.Parts[i] = decodeOpenCodePart(msg.Role, i, p)
	}
	if msg.Role == User {
		nameFiles(msg.Parts)
	}
	msg.Hidden = hiddenByOpenCode(&msg, m.Info.Error)
	return msg
}

// nameFiles marks the texts that come from an attached file. Directly before a file, OpenCode puts a text with the
// file's content and a text about the call that reads the file.
func nameFiles(parts []Part) {
	isFile := false
	for i := len(parts) - 1; i >= 0; i-- {
		switch p := &parts[i]; {
		case p.Kind == File:
			isFile = true
		case p.Kind != Text || p.Origin != FromHarness:
			isFile = false
		case isFile:
			p.Origin = FromFile
		}
	}
}

func finishOfOpenCode(reason string) Finish {
	switch reason {
	case "":
		return Unfinished
	case "stop":
		return EndsTurn
	case "tool-calls":
		return EndsWithCalls
	}
	return EndsOtherwise
}

// hiddenByOpenCode reports whether OpenCode leaves out this answer because it ended with an error. OpenCode leaves out
// all such answers, except an aborted answer that has any part besides reasoning and step marks.
func hiddenByOpenCode(msg *Message, err *ocError) bool {
	if msg.Role != Assistant || err == nil {
		return false
	}
	if err.Name == "MessageAbortedError" {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; p.Kind != Reasoning && !p.StartsStep {
				return false
			}
		}
	}
	return true
}

func decodeOpenCodePart(role Role, index int, raw json.Value) Part {
	path := "/parts/" + strconv.Itoa(index)
	var p ocPart
	if err := json.Unmarshal(raw, &p); err != nil {
		return Part{Kind: Other, Path: path, Raw: raw}
	}
	part := Part{ID: p.ID, Path: path}
	switch p.Type {
	case "text":
		part.Kind, part.Text, part.TextPath = Text, p.Text, path+"/text"
		switch {
		case role == Assistant:
			part.Origin = FromAgent
		case role == User && !p.Synthetic:
			part.Origin = FromUser
		}
		// OpenCode checks `ignored` only on texts of the user. It never sends an empty text.
		part.Hidden = p.Text == "" || role == User && p.Ignored
		if role == User && p.Synthetic {
			// OpenCode makes a new reminder text with a new id for each request, so this id does not identify the text.
			part.ID = ""
		}
	case "reasoning":
		part.Kind, part.Origin, part.Text, part.TextPath = Reasoning, FromAgent, p.Text, path+"/text"
		if isSigned(p.Metadata) {
			part.Signature = p.Metadata
		}
		part.Hidden = strings.TrimSpace(p.Text) == "" && part.Signature == nil
	case "tool":
		decodeOpenCodeTool(&part, &p, path)
	case "file":
		part.Kind, part.URL, part.Mime = File, p.URL, p.Mime
		// OpenCode does not send these two kinds of files themselves. It sends only their content, in synthetic texts
		// before the file.
		part.Hidden = p.Mime == "text/plain" || p.Mime == "application/x-directory"
	case "step-start", "step-finish", "patch", "snapshot", "agent", "retry":
		part.Kind, part.Hidden, part.StartsStep = Other, true, p.Type == "step-start"
	case "compaction", "subtask": // OpenCode sends a fixed sentence for each, so their ids do not count
		part.Kind, part.Raw, part.Compacts = Other, json.Value(`{"type":"`+p.Type+`"}`), p.Type == "compaction"
	default:
		part.Kind, part.Raw = Other, raw
	}
	return part
}

// prunedOutput is the sentence that OpenCode sends in place of a pruned tool output. It counts as content even if the
// output was empty. Otherwise, the bust that the pruning causes would seem to have no cause.
const prunedOutput = "[Old tool result content cleared]"

func decodeOpenCodeTool(part *Part, p *ocPart, path string) {
	part.Kind, part.Origin, part.Name, part.CallID = Tool, FromTool, p.Tool, p.CallID
	part.Input, part.InputPath = p.State.Input, path+"/state/input"
	if part.Input == nil {
		part.Input = json.Value("{}")
	}
	switch p.State.Status {
	case "completed":
		if p.State.Time.Compacted != 0 {
			// OpenCode does not send the attachments of a pruned output either.
			part.Text, part.Replaced = prunedOutput, true
			if p.State.Output != nil {
				part.Original = *p.State.Output
			}
			return
		}
		if p.State.Output == nil {
			return
		}
		part.Text, part.TextPath = *p.State.Output, path+"/state/output"
		var meta struct {
			Exit *float64 `json:"exit"`
		}
		if bytes.Contains(p.State.Metadata, []byte(`"exit":`)) && json.Unmarshal(p.State.Metadata, &meta) == nil && meta.Exit != nil {
			part.Exited, part.ExitStatus = true, int(*meta.Exit)
		}
		if len(p.State.Attachments) > len("[]") && string(p.State.Attachments) != "null" {
			part.Attachments, part.AttachmentsPath = p.State.Attachments, path+"/state/attachments"
		}
	case "error":
		part.IsError = true
		var meta struct {
			Interrupted bool    `json:"interrupted"`
			Output      *string `json:"output"`
		}
		if p.State.Metadata != nil && json.Unmarshal(p.State.Metadata, &meta) == nil && meta.Interrupted && meta.Output != nil {
			// OpenCode sends the output of an interrupted tool as a normal result.
			part.IsError = false
			part.Text, part.TextPath = *meta.Output, path+"/state/metadata/output"
			return
		}
		if p.State.Error != nil {
			part.Text, part.TextPath = *p.State.Error, path+"/state/error"
		}
	}
}

// proofs lists words by which a provider's proof of reasoning is recognised. They occur in the names signature and
// redactedData (Anthropic), redactedContent (Bedrock), thoughtSignature (Google), reasoningEncryptedContent and itemId
// (OpenAI), reasoning_opaque (Copilot) and reasoning_details (OpenRouter).
var proofs = []string{"signature", "redacted", "encrypted", "itemid", "opaque", "details"}

// isSigned reports whether the metadata contains a proof of any provider.
func isSigned(metadata json.Value) bool {
	if metadata == nil {
		return false
	}
	var byProvider map[string]map[string]json.Value
	if json.Unmarshal(metadata, &byProvider) != nil {
		return true // an unknown value may be signed data, so it must not change
	}
	for _, members := range byProvider {
		for name, v := range members {
			name = strings.ToLower(name)
			isProof := slices.ContainsFunc(proofs, func(word string) bool { return strings.Contains(name, word) })
			if isProof && v != nil && v.Kind() != 'n' {
				return true
			}
		}
	}
	return false
}

func (OpenCode) TextPart(p Part, text string) json.Value {
	id := p.ID
	v, _ := json.Marshal(struct { // strings always encode
		ID   string `json:"id,omitempty"`
		Type string `json:"type"`
		Text string `json:"text"`
	}{id, "text", text})
	return v
}

func (OpenCode) ResultText(p Part, text string) schema.Patch {
	var patch schema.Patch
	if p.TextPath != "" { // without a path, OpenCode sends its own sentence in place of the result
		patch = schema.Patch{{Op: "replace", Path: p.TextPath, Value: json.Quote(text)}}
	}
	if p.AttachmentsPath != "" {
		patch = append(patch, schema.PatchOp{Op: "remove", Path: p.AttachmentsPath})
	}
	return patch
}

// AddCall sets all times of the call to 0, so that its bytes do not depend on when it is added.
func (OpenCode) AddCall(c SyntheticCall) schema.Patch {
	type times struct {
		Start int `json:"start"`
		End   int `json:"end"`
	}
	type state struct {
		Status   string     `json:"status"`
		Input    json.Value `json:"input"`
		Output   string     `json:"output"`
		Title    string     `json:"title"`
		Metadata json.Value `json:"metadata"`
		Time     times      `json:"time"`
	}
	v, _ := json.Marshal(struct { // valid raw values and strings always encode
		Type   string `json:"type"`
		CallID string `json:"callID"`
		Tool   string `json:"tool"`
		State  state  `json:"state"`
		Marker bool   `json:"syntheticTodoMarker"`
	}{"tool", c.CallID, c.Tool, state{Status: "completed", Input: c.Input, Output: c.Output, Title: c.Title, Metadata: c.Metadata}, true})
	return schema.Patch{{Op: "add", Path: "/parts/-", Value: v}}
}

func (OpenCode) UsageValue(u Usage) json.Value {
	type cache struct {
		Read  int `json:"read"`
		Write int `json:"write"`
	}
	v, _ := json.Marshal(struct { // numbers always encode
		Input     int   `json:"input"`
		Output    int   `json:"output"`
		Reasoning int   `json:"reasoning"`
		Cache     cache `json:"cache"`
	}{Input: u.Input, Output: u.Output, Cache: cache{u.CacheRead, u.CacheWrite}})
	return v
}

func (OpenCode) Vocabulary() *Vocabulary { return &openCodeVocabulary }

type ocEvent struct {
	Type       string `json:"type"`
	Properties struct {
		SessionID string     `json:"sessionID"`
		MessageID string     `json:"messageID"`
		Info      json.Value `json:"info"`
		Error     json.Value `json:"error"`
	} `json:"properties"`
}

func (c OpenCode) Event(raw json.Value) (Event, error) {
	var e ocEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return Event{}, err
	}
	event := Event{Session: e.Properties.SessionID}
	switch e.Type {
	case "session.created", "session.updated":
		var session struct {
			Title string `json:"title"`
		}
		_ = json.Unmarshal(e.Properties.Info, &session) // a title that is not a string counts as missing
		event.Kind, event.Title = SessionTitled, session.Title
	case "session.compacted":
		event.Kind = SessionCompacted
	case "session.deleted":
		event.Kind = SessionDeleted
	case "message.removed":
		event.Kind, event.Message.Key = MessageRemoved, e.Properties.MessageID
	case "message.updated":
		info, err := json.Marshal(struct {
			Info json.Value `json:"info"`
		}{e.Properties.Info})
		if err != nil {
			return event, nil // an event without info
		}
		event.Kind, event.Message = MessageChanged, c.Decode(info)
		if event.Message.Errored {
			var failed struct {
				Error json.Value `json:"error"`
			}
			_ = json.Unmarshal(e.Properties.Info, &failed) // decoded above, so it is valid
			event.Error = failed.Error
		}
	case "session.error":
		event.Kind, event.Error = RequestFailed, e.Properties.Error
	}
	return event, nil
}
