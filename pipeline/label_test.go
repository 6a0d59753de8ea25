package pipeline

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// The label of a call is its file. Without a file, it is the command, and without a command, all arguments.
func TestLabelNamesTheContentOfAUnit(t *testing.T) {
	long := strings.Repeat("é", maxLabel)
	for _, c := range []struct {
		part transcript.Part
		want string
	}{
		{transcript.Part{Kind: transcript.Tool, Input: json.Value(`{"limit":3,"filePath":"src/a.go","pattern":"x"}`)}, "src/a.go"},
		{transcript.Part{Kind: transcript.Tool, Input: json.Value(`{"command":"go test\n ./..."}`)}, "go test ./..."},
		{transcript.Part{Kind: transcript.Tool, Input: json.Value(`{"path":7,"drop":"3-5"}`)}, `{"path":7,"drop":"3-5"}`},
		{transcript.Part{Kind: transcript.Tool, Input: json.Value(`[1]`)}, "[1]"},
		{transcript.Part{Kind: transcript.Text, Text: "  Read\n\nthe ledger\t"}, "Read the ledger"},
		{transcript.Part{Kind: transcript.File, Mime: "image/png", URL: "data:image/png;base64,AAAA"}, "image/png"},
		{transcript.Part{Kind: transcript.File, Mime: "text/plain", URL: "file:///p/notes.txt"}, "notes.txt"},
		{transcript.Part{Kind: transcript.Text, Text: long}, long[:maxLabel] + "…"}, // two bytes a rune, and maxLabel is even
	} {
		if got := labelOf(&c.part); got != c.want {
			t.Errorf("%+v is labelled %q, want %q", c.part, got, c.want)
		}
	}
}
