package transcript_test

import (
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func TestWithTyped(t *testing.T) {
	const opencode = `{"info":{"id":"m","role":"user"},"parts":[{"type":"text","text":"called","synthetic":true},{"type":"text","text":"Make a report."},{"type":"text","text":"content","synthetic":true},{"type":"file","mime":"text/plain"}]}`
	const pi = `{"id":"m","message":{"role":"user","content":[{"type":"text","text":"<file name=\"a\">Make</file>\n report."}]}}`
	type said = transcript.Said
	line := said{Origin: transcript.FromUser, Text: "/report x"}
	for _, c := range []struct {
		name  string
		codec transcript.Codec
		raw   string
		want  []said
	}{
		{"OpenCode", transcript.OpenCode{}, opencode, []said{{transcript.FromHarness, "called"}, line, {transcript.FromHarness, "Make a report."}, {transcript.FromFile, "content"}}},
		{"Pi", transcript.Pi{}, pi, []said{line, {transcript.FromHarness, "<file name=\"a\">Make</file>\n report."}}},
	} {
		codec := transcript.WithTyped(transcript.WithTyped(c.codec, map[string]string{"m": "/report x"}), map[string]string{"n": "/other"})
		var got []said
		m := codec.Decode(json.Value(c.raw))
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind == transcript.Text {
				got = append(got, p.Said()...)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
