package transcript

import (
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// OpenCode reads the message arrays of OpenCode 1.18.
type OpenCode struct{}

var _ Codec = OpenCode{}

type ocMessage struct {
	Info  ocInfo       `json:"info"`
	Parts []json.Value `json:"parts"`
}

type ocInfo struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Role      string `json:"role"`
	Time      struct {
		Created   float64 `json:"created"`
		Completed float64 `json:"completed"`
	} `json:"time"`
	// A user message names its model in one object, an assistant in two fields.
	Model struct {
		ProviderID string `json:"providerID"`
		ModelID    string `json:"modelID"`
	} `json:"model"`
	ProviderID string          `json:"providerID"`
	ModelID    string          `json:"modelID"`
	Finish     string          `json:"finish"`
	Error      *ocError        `json:"error"`
	Tools      map[string]bool `json:"tools"`
	Tokens     struct {
		Input  float64 `json:"input"`
		Output float64 `json:"output"`
		Cache  struct {
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

// Session implements Codec.
func (OpenCode) Session(raw json.Value) string {
	var m struct {
		Info struct {
			SessionID string `json:"sessionID"`
		} `json:"info"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return m.Info.SessionID
}

// Decode implements Codec.
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
		Finish:    m.Info.Finish,
		Errored:   m.Info.Error != nil,
		Tools:     m.Info.Tools,
		Usage: Usage{
			Input:      int(m.Info.Tokens.Input),
			Output:     int(m.Info.Tokens.Output),
			CacheRead:  int(m.Info.Tokens.Cache.Read),
			CacheWrite: int(m.Info.Tokens.Cache.Write),
		},
		Parts: make([]Part, len(m.Parts)),
	}
	if msg.Role == Assistant {
		msg.Model = schema.Model{Provider: m.Info.ProviderID, ID: m.Info.ModelID}
	}
	for i, p := range m.Parts {
		msg.Parts[i] = decodeOpenCodePart(msg.Role, i, p)
	}
	msg.Hidden = hiddenByOpenCode(&msg, m.Info.Error)
	return msg
}

// hiddenByOpenCode says whether OpenCode leaves the whole message out of the
// request: an assistant message with an error, unless an abort already had
// produced text or tool calls.
func hiddenByOpenCode(msg *Message, err *ocError) bool {
	if msg.Role != Assistant || err == nil {
		return false
	}
	if err.Name == "MessageAbortedError" {
		for i := range msg.Parts {
			if k := msg.Parts[i].Kind; k == Text || k == Tool {
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
		// Only user texts are checked for `ignored`; empty ones go in either role.
		part.Hidden = p.Text == "" || role == User && p.Ignored
		if role == User && p.Synthetic {
			// OpenCode re-creates its reminder texts with a new id on every pass.
			part.ID = ""
		}
	case "reasoning":
		part.Kind, part.Text, part.TextPath = Reasoning, p.Text, path+"/text"
		if isSigned(p.Metadata) {
			part.Signature = p.Metadata
		}
		part.Hidden = strings.TrimSpace(p.Text) == "" && part.Signature == nil
	case "tool":
		decodeOpenCodeTool(&part, &p, path)
	case "file":
		part.Kind, part.URL, part.Mime = File, p.URL, p.Mime
		// Their content already stands in synthetic texts before them.
		part.Hidden = p.Mime == "text/plain" || p.Mime == "application/x-directory"
	case "step-start", "step-finish", "patch", "snapshot", "agent", "retry":
		part.Kind, part.Hidden = Other, true
	default: // compaction and subtask become fixed sentences; the rest is unknown
		part.Kind, part.Raw = Other, raw
	}
	return part
}

func decodeOpenCodeTool(part *Part, p *ocPart, path string) {
	part.Kind, part.Name, part.CallID = Tool, p.Tool, p.CallID
	part.Input, part.InputPath = p.State.Input, path+"/state/input"
	if part.Input == nil {
		part.Input = json.Value("{}")
	}
	switch p.State.Status {
	case "completed":
		if p.State.Output == nil {
			return
		}
		part.Text, part.TextPath = *p.State.Output, path+"/state/output"
		if p.State.Time.Compacted != 0 {
			// OpenCode pruned it: a fixed sentence goes out instead of the output.
			part.Text = ""
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
			// An interrupted tool that had output goes out as a normal result.
			part.IsError = false
			part.Text, part.TextPath = *meta.Output, path+"/state/metadata/output"
			return
		}
		if p.State.Error != nil {
			part.Text, part.TextPath = *p.State.Error, path+"/state/error"
		}
	}
}

// isSigned reports whether a reasoning part's metadata carries a provider's
// proof: any of the providers' namespaces with a signature, redacted data or
// encrypted content.
func isSigned(metadata json.Value) bool {
	if metadata == nil {
		return false
	}
	var byProvider map[string]struct {
		Signature    json.Value `json:"signature"`
		RedactedData json.Value `json:"redactedData"`
		Encrypted    json.Value `json:"reasoningEncryptedContent"`
		ItemID       json.Value `json:"itemId"`
	}
	if json.Unmarshal(metadata, &byProvider) != nil {
		return true // unknown shape: it could be signed data, so it is not touched
	}
	for _, m := range byProvider {
		if m.Signature != nil || m.RedactedData != nil || m.Encrypted != nil || m.ItemID != nil {
			return true
		}
	}
	return false
}

// TextPart implements Codec.
func (OpenCode) TextPart(p Part, text string) json.Value {
	id := p.ID
	v, _ := json.Marshal(struct { // strings always encode
		ID   string `json:"id,omitempty"`
		Type string `json:"type"`
		Text string `json:"text"`
	}{id, "text", text})
	return v
}

// ToolPart implements Codec. Its times are zero, because its bytes must not
// depend on when it was made.
func (OpenCode) ToolPart(c SyntheticCall) json.Value {
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
	return v
}
