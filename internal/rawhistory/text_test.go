package rawhistory_test

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func TestTextIsToTheLetter(t *testing.T) {
	long := strings.Repeat("é", 300)
	raw := json.Value(`{"info":{"id":"m","role":"assistant"},"parts":[{"type":"step-start"},{"type":"reasoning","text":"why not"},` +
		`{"type":"text","text":"Two  lines:\n\t§2§ <b>&amp;"},` +
		`{"type":"tool","callID":"1","tool":"bash","state":{"status":"completed","input":{"command":"ls  -l"},"output":"a\n\n b\n"}},` +
		`{"type":"tool","callID":"2","tool":"read","state":{"status":"error","input":{},"error":"no such file"}},` +
		`{"type":"tool","callID":"3","tool":"read","state":{"status":"completed","input":{},"output":"pruned before","time":{"compacted":5}}},` +
		`{"type":"tool","callID":"4","tool":"read","state":{"status":"running","input":{}}},` +
		`{"type":"text","text":"` + long + `"}]}`)
	m := rawhistory.MessageOf(transcript.OpenCode{}, 7, raw)
	whole := "[7] A: Two  lines:\n\t§2§ <b>&amp;\n" +
		"[7] call bash {\"command\":\"ls  -l\"}\n[7] result of bash:\na\n\n b\n\n" +
		"[7] call read {}\n[7] error of read:\nno such file\n" +
		"[7] call read {}\n[7] result of read:\npruned before\n" +
		"[7] call read {}\n[7] no result of read\n" +
		"[7] A: " + long + "\n"
	if got := rawhistory.Text(m, rawhistory.TextOptions{}); got != whole {
		t.Errorf("got:\n%s\nwant:\n%s", got, whole)
	}
	if got := rawhistory.Text(m, rawhistory.TextOptions{Thinking: true}); got != "[7] thinking: why not\n"+whole {
		t.Errorf("with thinking:\n%s", got)
	}
	outline := rawhistory.Text(m, rawhistory.TextOptions{Outline: true})
	for _, want := range []string{"[7] result of bash: 6 characters\n", "[7] error of read: 12 characters\n", "[7] A: " + long[:400] + "… (300 characters)\n"} {
		if !strings.Contains(outline, want) {
			t.Errorf("the outline lacks %q:\n%s", want, outline)
		}
	}
	if got := rawhistory.Text(rawhistory.MessageOf(transcript.OpenCode{}, 8, nil), rawhistory.TextOptions{}); !strings.HasPrefix(got, "[8] (this message cannot be read") {
		t.Errorf("%q", got)
	}
}
