package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store"
)

// Fixed bug: if a user asked about words of a dropped output, why-forgot named another message that contained some of
// these words. The index contains no outputs of tools.
func TestWhyForgotFindsADroppedOutput(t *testing.T) {
	t.Setenv("TZ", "UTC")
	r := newHistoryRig(t)
	key := store.Key{Harness: "opencode", Session: "ses_1"}
	call := func(id, command, output string) string {
		return fmt.Sprintf(`{"id":%q,"type":"tool","tool":"bash","callID":"c-%s","state":{"status":"completed","input":{"command":%q},"output":%s,"title":"","metadata":{"exit":0},"time":{"start":1,"end":2}}}`, id, id, command, json.Quote(output))
	}
	r.opencode.Add(key.Session, []json.Value{
		openCodeMessage("m1", "user", "How many stripes does the zebra have?", 1),
		json.Value(`{"info":{"id":"m2","sessionID":"ses_1","role":"assistant","finish":"tool-calls","time":{"created":2}},"parts":[` +
			call("p1", "count", "first line\nnumber of stripes:\n  eighty-\x1b[2Jone\nlast line") + "," + call("p2", "ls", "zebra.txt") + `]}`),
		openCodeMessage("m3", "assistant", "The stripes are counted.", 3),
	})
	unit := func(tag int, message, part, kind, tool string) store.UnitRow {
		return store.UnitRow{Tag: tag, UnitKey: message + "\x00p:" + part, MessageKey: message, Kind: kind, Tool: tool, Tokens: 10}
	}
	r.must(r.store.CommitPass(t.Context(), store.PassCommit{
		Session: store.SessionRow{Key: key, Directory: "/p", Mode: "primary", TagCounter: 4},
		Units:   []store.UnitRow{unit(1, "m1", "p-m1", "text", ""), unit(2, "m2", "p1", "tool", "bash"), unit(3, "m2", "p2", "tool", "bash"), unit(4, "m3", "p-m3", "text", "")},
		Edits:   []store.EditRow{{Tag: 2, Kind: "drop", Pass: 1, Payload: "queued drops"}, {Tag: 3, Kind: "drop", Pass: 1, Payload: "queued drops"}},
		Pass:    store.PassRow{Pass: 1, Verdict: "soft", Cause: "flush", At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local).UnixMilli()},
	}))
	asked := func(args ...string) string {
		t.Helper()
		var o, e bytes.Buffer
		if code := run(t.Context(), append(args, "--data-dir", r.dir), nil, &o, &e, newFakeHost); code != exitOK || strings.ContainsRune(o.String(), 0x1b) {
			t.Fatalf("%q: exit code %d\n%s\n%q", args, code, e.String(), o.String())
		}
		return o.String()
	}
	asked("index")
	const found = "output of bash · p · opencode · ses_1 · message 2"
	for words, want := range map[string][]string{
		"Number of stripes: eighty-": {found, "    number of stripes:\n      eighty-", "§2§ bash left the prompt with request 1", "/ctx-menu taken keep 2 in its session"},
		"zebra.txt":                  {found, "§3§ bash left"},
		"stripes are counted":        {"message 3", "magicctx has not removed it"},
		"zebra count":                {"message 1", "magicctx has not removed it"}, // the exact words are nowhere
	} {
		out := asked("why-forgot", words)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%q: no %q in\n%s", words, w, out)
			}
		}
		if words == "zebra.txt" && strings.Contains(out, "§2§") {
			t.Errorf("%q names another piece:\n%s", words, out)
		}
	}
}
