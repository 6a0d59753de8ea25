package transcript

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A toolResult is the result of a tool call that is a separate message of the harness.
type toolResult struct {
	raw          json.Value
	path, callID string
	isError      bool
	text         string
	textPath     string
	other        json.Value
	taken        bool
	// isUnreadable means that no call may have the result.
	isUnreadable bool
}

// readContent reads the content of a result: a string, or a list of texts and files. It joins the texts with line
// breaks, as the harness does. If the content has any other form, readContent returns false. The shim does not send the
// content of some files. `media` maps the path of such a file in the message to the beginning of its URL.
func (r *toolResult) readContent(path string, content json.Value, media map[string]string) bool {
	if content.Kind() == '"' {
		r.textPath = path
		return json.Unmarshal(content, &r.text) == nil
	}
	var blocks []json.Value
	if content.Kind() != '[' || json.Unmarshal(content, &blocks) != nil {
		return false
	}
	var texts []string
	var others [][]byte
	for i, raw := range blocks {
		at := path + "/" + strconv.Itoa(i)
		var b struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		}
		if json.Unmarshal(raw, &b) != nil || b.Type != "text" || b.Text == nil {
			if url := media[at]; url != "" {
				raw = json.Value(`{"type":"file","uri":` + string(json.Quote(url)) + `}`)
			}
			others = append(others, raw)
			continue
		}
		if r.textPath == "" {
			r.textPath = at + "/text"
		}
		texts = append(texts, *b.Text)
	}
	r.text = strings.Join(texts, "\n")
	if len(others) > 0 {
		r.other = json.Value("[" + string(bytes.Join(others, []byte(","))) + "]")
	}
	return true
}

// attach adds results to their calls. A result without a call becomes a part of the kind Other. A provider may give two
// calls of one answer the same id, so each result is attached to only one call.
func attach(parts []Part, results []toolResult) []Part {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case Tool:
			p.Origin = FromTool
			j := slices.IndexFunc(results, func(r toolResult) bool { return !r.taken && !r.isUnreadable && r.callID == p.CallID })
			if j < 0 {
				continue
			}
			r := &results[j]
			r.taken = true
			p.ResultPath, p.IsError = r.path, r.isError
			p.Text, p.TextPath, p.Attachments = r.text, r.textPath, r.other
		case Text, Reasoning:
			p.Origin = FromAgent
		}
	}
	for _, r := range results {
		if !r.taken {
			parts = append(parts, Part{Kind: Other, Path: r.path, Raw: r.raw})
		}
	}
	return parts
}
