package rawhistory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

func ofOpenCode2(anchors ...chronicle.Place) rawhistory.Session {
	return rawhistory.Session{Harness: schema.HarnessOpenCode2, ID: session, Anchors: anchors}
}

// texts leaves out blanks at the ends of lines.
func texts(all []rawhistory.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(rawhistory.Text(m, rawhistory.TextOptions{Thinking: true}))
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// These rows were stored by a beta of OpenCode 2 from July 2026. If the map `want` has no text for a row, OpenCode 2
// does not send the row.
var rowsOf2 = []struct{ id, kind, data string }{
	{"m1", "user", `{"time":{"created":1},"text":"read a.txt","files":[
		{"data":"aGk=","mime":"text/plain","name":"a.txt","source":{"type":"uri","uri":"file:///p/a.txt"}},
		{"data":"iVBORw0K","mime":"image/png","name":"i.png","source":{"type":"uri","uri":"file:///p/i.png"}},
		{"data":"","mime":"video/mp4","source":{"type":"inline"}}]}`},
	{"m2", "system", `{"time":{"created":2},"text":"the rules have changed"}`},
	{"m3", "assistant", `{"time":{"created":3,"completed":4},"agent":"build","model":{"id":"m","providerID":"p"},"finish":"tool-calls",
		"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":3,"write":4}},"content":[
		{"type":"reasoning","text":"hmm","state":{"signature":"s"}},
		{"type":"text","text":"I read it"},
		{"type":"tool","id":"c1","name":"read","executed":false,"state":{"status":"completed","input":{"path":"a.txt"},"content":[{"type":"text","text":"hi"}]}},
		{"type":"tool","id":"c2","name":"read","state":{"status":"completed","input":{},"content":[],"structured":{"content":"yo"}}},
		{"type":"tool","id":"c3","name":"read","state":{"status":"completed","input":{},"content":[{"type":"text","text":"seen"},{"type":"file","uri":"data:image/png;base64,AA==","mime":"image/png"}]}},
		{"type":"tool","id":"c4","name":"nosuch","state":{"status":"error","input":{},"content":[],"error":{"type":"tool.unknown","message":"Unknown tool: nosuch"}}},
		{"type":"tool","id":"c5","name":"shell","state":{"status":"streaming","input":"{\"command\":\"x"}}]}`},
	{"m4", "assistant", `{"time":{"created":5},"model":{"id":"m","providerID":"p"},"content":[{"type":"text","text":""}],"finish":"error","error":{"type":"unknown","message":"no"}}`},
	{"m5", "synthetic", `{"time":{"created":6},"text":"a reminder","description":"d"}`},
	{"m6", "skill", `{"time":{"created":7},"skill":"s","name":"s","text":"the skill"}`},
	{"m7", "shell", `{"time":{"created":8},"command":"ls","status":"exited","exit":0,"output":{"output":"a.txt\n"}}`},
	{"m8", "agent-switched", `{"time":{"created":9},"agent":"plan"}`},
	{"m9", "compaction", `{"time":{"created":10},"status":"completed","reason":"manual","summary":"## Goal","recent":"[User]: x"}`},
	{"m10", "compaction", `{"time":{"created":11},"status":"running","reason":"manual"}`},
	{"m11", "user", `{"time":{"created":12},"text":""}`},
	{"m12", "user", `{"time":`},
	{"m13", "assistant", `{"time":{"created":13},"model":{"id":"m","providerID":"p"},"content":[{"type":"reasoning","text":"half a thought"}],"finish":"error","error":{"type":"aborted","message":"no"}}`},
}

const textsOf2 = `[1] U: read a.txt
[1] F:

    Attached file: a.txt

    hi
[1] file image/png, 30 bytes encoded
[2] thinking: hmm
[2] A: I read it
[2] call read {"path":"a.txt"}
[2] result of read:
    hi
[2] call read {}
[2] result of read:
    {"content":"yo"}
[2] call read {}
[2] result of read:
    seen
[2] result of read has attachments that are no text
[2] call nosuch {}
[2] error of nosuch:
    Unknown tool: nosuch
[2] call shell "{\"command\":\"x"
[2] no result of shell
[3] H: a reminder
[4] H: the skill
[5] T: Shell command: ls

    a.txt

[6] (this message cannot be read: the harness's store is damaged here)
[7] A: half a thought
`

func TestOpenCode2GivesTheMessagesOfItsArray(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode2(t, home)
	for i, row := range rowsOf2 {
		db.AddRow2(session, row.id, row.kind, int64(10*i), row.data)
	}
	db.AddRow2("ses_2", "other", "user", 1, `{"text":"not mine"}`)
	released := strings.NewReplacer(
		"Shell command: ls\n\n    a.txt", "The following shell command was executed by the user:\n\n    Command:\n    ls\n\n    Output:\n    a.txt",
		"[1] file image/png", "[1] H: Attached file: /p/i.png\n[1] file image/png",
	).Replace(textsOf2)
	all, extent := read(t, at(home), ofOpenCode2(), 1, 99)
	if got := texts(all); got != released {
		t.Errorf("a release:\n%s\nwant\n%s", got, released)
	}
	if extent.Last != 7 || extent.Path != db.Path {
		t.Errorf("%+v", extent)
	}
	if u := all[1].Decoded; u.Key != "m3" || u.Usage.CacheRead != 3 || u.Model.ID != "m" || u.Completed != 4 || u.Parts[0].Signature == nil {
		t.Errorf("the answer: %+v", u)
	}
	db.Rename2ToBeta()
	all, _ = read(t, at(home), ofOpenCode2(), 1, 99)
	if got := texts(all); got != textsOf2 {
		t.Errorf("a beta:\n%s\nwant\n%s", got, textsOf2)
	}
}

// Version 2 copies the messages of version 1 under their old ids, but it changes them: it loses pruned output and the
// prompt at a compaction marker, and it turns a text that OpenCode added to a prompt into a separate message. So the
// host must show these messages as version 1 stored them.
func TestOpenCode2ShowsTheFirstMessagesAsVersion1StoredThem(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	db.Add(session, []json.Value{
		ocUser("m1", "one", 1),
		json.Value(`{"info":{"id":"m2","sessionID":"ses_1","role":"assistant","finish":"stop","time":{"created":2}},"parts":[
			{"id":"p2","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{},"output":"the whole output","time":{"compacted":9}}}]}`),
		json.Value(`{"info":{"id":"m3","sessionID":"ses_1","role":"user","time":{"created":3}},"parts":[
			{"id":"p3","type":"text","text":"two"},{"id":"p4","type":"compaction","auto":true}]}`),
		json.Value(`{"info":{"id":"m4","sessionID":"ses_1","role":"assistant","parentID":"m3","summary":true,"finish":"stop","providerID":"magicctx","time":{"created":4}},"parts":[]}`),
		ocUser("m5", "three", 5),
	})
	db.UpgradeToOpenCode2()
	for i, row := range []struct{ id, kind, data string }{
		{"m1", "user", `{"text":"one","time":{"created":1}}`},
		{"x1", "synthetic", `{"text":"what OpenCode said","time":{"created":1}}`},
		{"m2", "assistant", `{"content":[{"type":"tool","id":"c1","name":"bash","state":{"status":"completed","input":{},"content":[{"type":"text","text":"[Old tool result content cleared]"}]}}],"time":{"created":2}}`},
		{"m3", "compaction", `{"status":"completed","reason":"auto","summary":"The conversation up to here is summarised by magicctx, which is not running now.","recent":"","time":{"created":3}}`},
		{"m5", "user", `{"text":"three","time":{"created":5}}`},
		{"x2", "system", `{"text":"The available tools have changed.","time":{"created":5}}`},
		{"n1", "user", `{"text":"four","time":{"created":6}}`},
	} {
		db.AddRow2(session, row.id, row.kind, int64(i), row.data)
	}
	covered := []chronicle.Place{{Ordinal: 1, Key: "m1"}, {Ordinal: 2, Key: "m2"}, {Ordinal: 3, Key: "m3"}, {Ordinal: 4, Key: "m5"}}
	all, _ := read(t, at(home), ofOpenCode2(covered...), 1, 99)
	const want = `[1] U: one
[2] call bash {}
[2] result of bash:
    the whole output
[3] U: two
[3] {"type":"compaction"}
[4] U: three
[5] U: four
`
	if got := texts(all); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if all, _ := read(t, at(home), ofOpenCode(), 1, 99); keys(all) != "1=m1 2=m2 3=m3 4=m5" {
		t.Errorf("version 1: %s", keys(all))
	}
}

// A database may have only the tables of version 2, or only those of version 1. If the reader is asked for a session of
// the version without tables, it must report that it does not know the session.
func TestOpenCodeOfOneVersionOnly(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode2(t, home)
	db.AddRow2(session, "m1", "user", 1, `{"text":"one"}`)
	if _, err := at(home).Read(t.Context(), ofOpenCode(), 1, 9, nil); !errors.Is(err, rawhistory.ErrUnknownSession) {
		t.Errorf("a session of version 1: %v", err)
	}
	home = t.TempDir()
	rawhistorytest.NewOpenCode(t, home).Add(session, []json.Value{ocUser("m1", "one", 1)})
	if _, err := at(home).Read(t.Context(), ofOpenCode2(), 1, 9, nil); !errors.Is(err, rawhistory.ErrUnknownSession) {
		t.Errorf("a session of version 2: %v", err)
	}
}

func TestOpenCode2WithOtherTables(t *testing.T) {
	for name, isUpgrade := range map[string]bool{"new": false, "with the tables of version 1": true} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			var db *rawhistorytest.OpenCode
			if isUpgrade {
				db = rawhistorytest.NewOpenCode(t, home)
				db.UpgradeToOpenCode2()
			} else {
				db = rawhistorytest.NewOpenCode2(t, home)
			}
			db.Exec(`ALTER TABLE session_message RENAME COLUMN seq TO place`)
			_, err := at(home).Read(t.Context(), ofOpenCode2(), 1, 9, nil)
			if !errors.Is(err, opencodedb.ErrForeign) || !strings.Contains(err.Error(), "it has no session_message.seq; see whether a newer magicctx") {
				t.Errorf("%v", err)
			}
		})
	}
}
