package transcript

import (
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// OpenCode2 reads the steps of OpenCode 2 (docs/opencode.md). In OpenCode's array, the results of tool calls are
// separate messages without an id. The shim joins an answer with the results of its calls into one step, and takes the
// step apart again after the pass. Every other message is a step of its own. The shim also adds facts that only
// OpenCode's store has, for example times and usage.
type OpenCode2 struct{}

var _ Codec = OpenCode2{}

type oc2Step struct {
	ID      string       `json:"id"`
	Info    oc2Info      `json:"info"`
	Message oc2Message   `json:"message"`
	Results []json.Value `json:"results"`
}

type oc2Info struct {
	// Type is the kind of the stored message, for example "user" or "synthetic", or "" if the shim does not know it.
	Type       string  `json:"type"`
	Created    float64 `json:"created"`
	Completed  float64 `json:"completed"`
	ProviderID string  `json:"providerID"`
	ModelID    string  `json:"modelID"`
	Agent      string  `json:"agent"`
	Finish     string  `json:"finish"`
	Error      *struct {
		Type string `json:"type"`
	} `json:"error"`
	Tokens oc2Tokens `json:"tokens"`
	// Typed is the index of the text that the user typed.
	Typed *int `json:"typed"`
	// Media maps the path of a file in the step to the beginning of its data URL. The shim leaves out the rest of the
	// URL, which holds the content.
	Media map[string]string `json:"media"`
}

type oc2Tokens struct {
	Input     float64 `json:"input"`
	Output    float64 `json:"output"`
	Reasoning float64 `json:"reasoning"` // Output leaves it out
	Cache     struct {
		Read  float64 `json:"read"`
		Write float64 `json:"write"`
	} `json:"cache"`
}

type oc2Message struct {
	ID      string     `json:"id"`
	Role    string     `json:"role"`
	Content json.Value `json:"content"`
	// Only prompts of the user have an object here.
	Metadata json.Value `json:"metadata"`
}

type oc2Part struct {
	Type             string     `json:"type"`
	Text             string     `json:"text"`
	Encrypted        string     `json:"encrypted"`
	ID               string     `json:"id"`
	Name             string     `json:"name"`
	Input            json.Value `json:"input"`
	ProviderExecuted bool       `json:"providerExecuted"`
	ProviderMetadata json.Value `json:"providerMetadata"`
	Result           oc2Result  `json:"result"`
	// In the betas, this is the media type of a file. In the releases, it is in Media.
	MediaType string `json:"mediaType"`
	Media     struct {
		MediaType string `json:"mediaType"`
	} `json:"media"`
	Metadata struct {
		Attachment json.Value `json:"attachment"`
	} `json:"metadata"`
}

type oc2Result struct {
	Type  string     `json:"type"`
	Value json.Value `json:"value"`
}

// These are kinds of stored messages. OpenCode sends all of them with the role user.
const (
	oc2User       = "user"
	oc2Shell      = "shell"
	oc2Compaction = "compaction"
)

func (OpenCode2) Decode(raw json.Value) Message {
	var step oc2Step
	if err := json.Unmarshal(raw, &step); err != nil {
		return Message{Parts: []Part{{Kind: Other, Raw: raw}}}
	}
	return decodeOpenCode2(&step, raw)
}

func decodeOpenCode2(step *oc2Step, raw json.Value) Message {
	m, info := &step.Message, &step.Info
	msg := Message{Key: step.ID, Role: User, Created: int64(info.Created), Completed: int64(info.Completed)}
	switch {
	case m.Role == "assistant" && m.ID != "":
		decodeOpenCode2Answer(&msg, step)
	case m.Role == "user" && m.ID != "":
		msg.Agent = info.Agent
		msg.Parts = decodeOpenCode2Content(m.Content, info)
		kind := oc2KindOf(m, info, msg.Parts)
		msg.Summary = kind == oc2Compaction
		nameOpenCode2Origins(msg.Parts, kind, info)
	case m.Role == "" && len(m.Content) == 0:
		msg.Role = "" // the message was removed from the wire, or raw is not a step
	default:
		// The message is of any other kind, for example a change of the effort, a result without its call, a message of
		// another plugin, or OpenCode's reminder at the step limit, which has the role assistant. No patch may change
		// it. A message with the role system announces changed instructions. No summary repeats them, so no head may
		// replace this message. Raw leaves out the message's key, because the key is different in a fork.
		msg.Stays, msg.Nameless = m.Role == "system", m.ID == ""
		var content struct {
			Message json.Value `json:"message"`
		}
		_ = json.Unmarshal(raw, &content) // raw was read before
		msg.Parts = []Part{{Kind: Other, Path: "/message", Raw: content.Message}}
	}
	return msg
}

// oc2KindOf returns the kind of a message with the role user. If the shim does not know the kind, oc2KindOf derives it
// from the message itself: only a prompt has an object as its metadata, and the other kinds begin with fixed words.
func oc2KindOf(m *oc2Message, info *oc2Info, parts []Part) string {
	if info.Type != "" || len(parts) == 0 {
		return info.Type
	}
	switch text := parts[0].Text; {
	case strings.HasPrefix(text, "<conversation-checkpoint>"):
		return oc2Compaction
	case strings.HasPrefix(text, "The following shell command was executed by the user:"), strings.HasPrefix(text, "Shell command: "):
		return oc2Shell
	case m.Metadata.Kind() == '{':
		return oc2User
	}
	return ""
}

// nameOpenCode2Origins sets the origin of each text in a user message. OpenCode puts the skills first, then the text
// that the user typed, then the files. So at most one text is the user's own.
func nameOpenCode2Origins(parts []Part, kind string, info *oc2Info) {
	isTaken := false
	for i := range parts {
		p := &parts[i]
		if p.Kind != Text {
			continue
		}
		switch {
		case kind == oc2Compaction:
			p.Origin = FromAgent
		case kind == oc2Shell:
			p.Origin = FromTool
		case kind != oc2User || p.Origin == FromFile:
		case info.Typed != nil && i == *info.Typed, info.Typed == nil && !isTaken:
			p.Origin, isTaken = FromUser, true
		}
	}
}

func decodeOpenCode2Answer(msg *Message, step *oc2Step) {
	info := &step.Info
	msg.Role = Assistant
	msg.Model = schema.Model{Provider: info.ProviderID, ID: info.ModelID}
	msg.Usage = Usage{
		Input: int(info.Tokens.Input), Output: int(info.Tokens.Output + info.Tokens.Reasoning),
		CacheRead: int(info.Tokens.Cache.Read), CacheWrite: int(info.Tokens.Cache.Write),
	}
	msg.Errored = info.Error != nil // OpenCode sends the texts of a failed answer
	msg.Finish = finishOfOpenCode(info.Finish)
	msg.Parts = attach(decodeOpenCode2Content(step.Message.Content, info), decodeOpenCode2Results(step.Results, info))
}

func decodeOpenCode2Content(content json.Value, info *oc2Info) []Part {
	const path = "/message/content"
	if len(content) == 0 || content.Kind() == 'n' {
		return nil
	}
	var raws []json.Value
	if json.Unmarshal(content, &raws) != nil {
		return []Part{{Kind: Other, Path: path, Raw: content}}
	}
	parts := make([]Part, len(raws))
	for i, raw := range raws {
		parts[i] = decodeOpenCode2Part(path+"/"+strconv.Itoa(i), raw, info)
	}
	return parts
}

func decodeOpenCode2Part(path string, raw json.Value, info *oc2Info) Part {
	other := Part{Kind: Other, Path: path, Raw: raw}
	var b oc2Part
	if err := json.Unmarshal(raw, &b); err != nil {
		return other
	}
	switch b.Type {
	case "text":
		p := Part{Kind: Text, Path: path, Text: b.Text, TextPath: path + "/text", Hidden: strings.TrimSpace(b.Text) == ""}
		if b.Metadata.Attachment != nil {
			p.Origin = FromFile
		}
		return p
	case "reasoning":
		p := Part{Kind: Reasoning, Path: path, Text: b.Text, TextPath: path + "/text"}
		switch {
		case isSigned(b.ProviderMetadata):
			p.Signature = b.ProviderMetadata
		case b.Encrypted != "":
			p.Signature = json.Quote(b.Encrypted)
		}
		p.Hidden = strings.TrimSpace(p.Text) == "" && p.Signature == nil
		return p
	case "tool-call":
		if b.ProviderExecuted { // the result is also in the answer, and the provider may have signed both
			return other
		}
		p := Part{Kind: Tool, Path: path, Name: b.Name, CallID: b.ID, Input: b.Input, InputPath: path + "/input"}
		if p.Input == nil {
			p.Input = json.Value("{}")
		}
		return p
	case "media":
		mime := b.MediaType
		if mime == "" {
			mime = b.Media.MediaType
		}
		url := info.Media[path]
		if url == "" {
			url = "data:" + mime + ";base64,"
		}
		return Part{Kind: File, Path: path, Mime: mime, URL: url}
	}
	return other
}

func decodeOpenCode2Results(raws []json.Value, info *oc2Info) []toolResult {
	results := make([]toolResult, len(raws))
	for i, raw := range raws {
		r := &results[i]
		r.raw, r.path = raw, "/results/"+strconv.Itoa(i)
		var m struct {
			Content []oc2Part `json:"content"`
		}
		r.isUnreadable = json.Unmarshal(raw, &m) != nil || len(m.Content) != 1 || m.Content[0].Type != "tool-result" || !r.readOpenCode2(&m.Content[0], info)
	}
	return results
}

// readOpenCode2 reads a result. OpenCode sends a text to the provider unchanged, and any other value as JSON. If
// readOpenCode2 does not know the form of the result, it returns false.
func (r *toolResult) readOpenCode2(p *oc2Part, info *oc2Info) bool {
	r.callID, r.isError = p.ID, p.Result.Type == "error"
	path := r.path + "/content/0/result/value"
	value := p.Result.Value
	switch {
	case p.Result.Type == "content":
		return value.Kind() == '[' && r.readContent(path, value, info.Media)
	case p.Result.Type != "text" && p.Result.Type != "json" && p.Result.Type != "error":
		return false
	case value.Kind() == '"':
		return r.readContent(path, value, nil)
	}
	var failure struct {
		Error struct {
			Message *string `json:"message"`
		} `json:"error"`
		Content json.Value `json:"content"`
	}
	if r.isError && json.Unmarshal(value, &failure) == nil && failure.Error.Message != nil {
		r.text, r.textPath = *failure.Error.Message, path+"/error/message"
		if len(failure.Content) > len("[]") {
			r.other = failure.Content
		}
		return true
	}
	r.text = string(value)
	return len(value) > 0
}

func (OpenCode2) TextPart(_ Part, text string) json.Value { return Pi{}.TextPart(Part{}, text) }

// ResultText replaces all texts and files of the result with text. A failed result stays failed.
func (OpenCode2) ResultText(p Part, text string) schema.Patch {
	if p.ResultPath == "" {
		return nil
	}
	path := p.ResultPath + "/content/0/result"
	if p.IsError && strings.HasSuffix(p.TextPath, "/error/message") {
		patch := schema.Patch{{Op: "replace", Path: p.TextPath, Value: json.Quote(text)}}
		if len(p.Attachments) > 0 {
			patch = append(patch, schema.PatchOp{Op: "replace", Path: path + "/value/content", Value: json.Value("[]")})
		}
		return patch
	}
	kind := "text"
	if p.IsError {
		kind = "error"
	}
	return schema.Patch{{Op: "replace", Path: path, Value: json.Value(`{"type":"` + kind + `","value":` + string(json.Quote(text)) + `}`)}}
}

// OpenCode 2 has no todo tool, so the host adds no calls.
func (OpenCode2) AddCall(SyntheticCall) schema.Patch { return nil }

func (OpenCode2) UsageValue(u Usage) json.Value { return OpenCode{}.UsageValue(u) }

func (OpenCode2) Vocabulary() *Vocabulary { return &openCode2Vocabulary }

type oc2Event struct {
	Type    string     `json:"type"`
	Session string     `json:"session"`
	Title   string     `json:"title"`
	ID      string     `json:"id"`
	Info    oc2Info    `json:"info"`
	Error   json.Value `json:"error"`
}

// Event reads an event of OpenCode, of which the shim sends only the fields that the host uses.
func (OpenCode2) Event(raw json.Value) (Event, error) {
	var e oc2Event
	if err := json.Unmarshal(raw, &e); err != nil {
		return Event{}, err
	}
	event := Event{Session: e.Session}
	switch e.Type {
	case "session.created", "session.renamed":
		event.Kind, event.Title = SessionTitled, e.Title
	case "session.compaction.ended":
		event.Kind = SessionCompacted
	case "session.deleted":
		event.Kind = SessionDeleted
	case "session.step.ended", "session.step.failed":
		event.Kind = MessageChanged
		event.Message = decodeOpenCode2(&oc2Step{ID: e.ID, Info: e.Info, Message: oc2Message{ID: e.ID, Role: "assistant"}}, nil)
		event.Message.Parts = nil
		if event.Message.Errored {
			event.Error = e.Error
		}
	}
	return event, nil
}
