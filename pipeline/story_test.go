package pipeline

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/render"
)

var update = flag.Bool("update", false, "write the .want sections of the stories anew")

// TestStories runs the stories in testdata. A story is a txtar archive. It begins with a sentence about the property
// that must hold, and may have a section `host` with settings. Each pass has two sections: the events before it, and
// the wire that it sends.
//
// A line of a pass adds a message, or replaces the message with the same id:
//
//	user u1: find it | file image
//	assistant a1 (tool-calls, 70%): think signed "hm" | so | call read c1 {"f":"a"} -> "AA"
//	assistant t1..t20: call read c# {"n":#} -> "o#"
//
// A line can also be an operation: drop 2 3, flush, restart, resync, pause 6m, pressure 70%, or revert a1, which keeps
// a1 as the last message.
//
// The wire is written as a difference from the previous pass. `= a1..u2` means that these messages are unchanged, and
// `- a1` that the message is no longer sent. All other messages are written in full.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no stories")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			must(t, err)
			if len(bytes.TrimSpace(archive.Comment)) == 0 {
				t.Error("the story does not say what must hold")
			}
			if tell(t, archive) && *update {
				must(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
		})
	}
}

// The function `tell` plays the story, and writes the results into the .want sections of the archive. It returns true
// if a section has changed.
func tell(t *testing.T, a *txtar.Archive) (differs bool) {
	t.Helper()
	s := &story{t: t, ids: map[string]int{}, lines: map[string]string{}}
	s.w = newWorld(t, true, 1)
	passes := 0
	for i := range a.Files {
		f := &a.Files[i]
		switch {
		case f.Name == "host":
			s.settings(string(f.Data))
		case strings.HasSuffix(f.Name, ".want"):
			got := s.outcome()
			if got == string(f.Data) {
				continue
			}
			differs = true
			if !*update {
				t.Errorf("%s (-want +got):\n%s", f.Name, cmp.Diff(string(f.Data), got))
			}
			f.Data = []byte(got)
		default:
			passes++
			if want := fmt.Sprintf("pass%d", passes); f.Name != want {
				t.Fatalf("section %q, want %q", f.Name, want)
			}
			if i+1 == len(a.Files) || a.Files[i+1].Name != f.Name+".want" {
				t.Fatalf("section %q has no .want after it", f.Name)
			}
			s.happen(string(f.Data))
		}
	}
	return differs
}

type story struct {
	t     *testing.T
	w     *world
	ids   map[string]int    // message id -> index in w.raw
	lines map[string]string // message id -> its line
	pass  int
}

func (s *story) settings(text string) {
	for l := range strings.Lines(text) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(l), " "); name {
		case "protected":
			s.w.readings.Knobs.ProtectedTags = s.number(value)
		case "subagent":
			s.w.readings.Subagent = true
		case "prefixes":
			s.w.prefixes = value != "off"
			s.w.restart()
		default:
			s.t.Fatalf("unknown setting %q", l)
		}
	}
}

func (s *story) happen(text string) {
	s.t.Helper()
	s.pass++
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		verb, rest, _ := strings.Cut(l, " ")
		switch verb {
		case "":
		case "user", "assistant":
			s.say(l)
		case "drop":
			for _, tag := range strings.Fields(rest) {
				s.w.queue(s.number(tag))
			}
		case "flush":
			s.w.readings.Flush = true
		case "restart":
			s.w.restart()
		case "resync":
			s.w.resync()
		case "pause":
			d, err := time.ParseDuration(rest)
			must(s.t, err)
			s.w.now += d.Milliseconds()
		case "pressure":
			s.w.usage(float64(s.number(strings.TrimSuffix(rest, "%"))))
		case "revert":
			s.w.raw = s.w.raw[:s.ids[rest]+1]
			s.w.held = min(s.w.held, len(s.w.raw))
		default:
			s.t.Fatalf("unknown line %q", l)
		}
	}
	// For every pass OpenCode makes its reminders again, with new ids.
	for i, raw := range s.w.raw {
		if again := reminderID.ReplaceAll(raw, fmt.Appendf(nil, `"reminder-%d`, s.pass)); !bytes.Equal(again, raw) {
			s.w.replace(i, again)
		}
	}
	s.w.pass()
}

var (
	reminderID  = regexp.MustCompile(`"reminder-\d+`)
	messageLine = regexp.MustCompile(`^(user|assistant) (\w+?)(?:(\d+)\.\.\w+?(\d+))?(?: \(([^)]*)\))?: (.*)$`)
)

func (s *story) say(l string) {
	s.t.Helper()
	m := messageLine.FindStringSubmatch(l)
	if m == nil {
		s.t.Fatalf("cannot read %q", l)
	}
	role, id, options, parts := m[1], m[2], m[5], m[6]
	if m[3] == "" {
		s.put(role, id, options, parts)
		return
	}
	for n := s.number(m[3]); n <= s.number(m[4]); n++ {
		s.put(role, id+strconv.Itoa(n), options, strings.ReplaceAll(parts, "#", strconv.Itoa(n)))
	}
}

func (s *story) put(role, id, options, text string) {
	s.t.Helper()
	info := obj{}
	for _, o := range strings.Split(options, ", ") {
		switch percent, isPercent := strings.CutSuffix(o, "%"); {
		case o == "":
		case isPercent:
			info["tokens"] = obj{"input": s.number(percent) * s.w.readings.LimitTokens / 100}
		case o == "tool-calls":
			info["finish"] = o
		case o == "aborted":
			info["error"] = obj{"name": "MessageAbortedError"}
		case o == "failed":
			info["error"] = obj{"name": "APIError"}
		case o == "m2":
			info["model"], info["modelID"] = obj{"providerID": "anthropic", "modelID": o}, o
		default:
			s.t.Fatalf("unknown option %q", o)
		}
	}
	var parts []obj
	for n, p := range strings.Split(text, " | ") {
		parts = append(parts, s.part(fmt.Sprintf("%s-%d", id, n+1), p))
	}
	raw := message(id, role, s.w.now, info, parts...)
	if i, known := s.ids[id]; known && i < len(s.w.raw) {
		s.w.replace(i, raw)
		return
	}
	s.ids[id] = len(s.w.raw)
	s.w.add(raw)
}

var callPart = regexp.MustCompile(`^call (\w+) (\w+) (.*?) -> (?:(error|interrupted|pruned) )?(".*?")( \+ image)?$`)

func (s *story) part(id, p string) obj {
	s.t.Helper()
	// A long string is written {600 x}.
	p = longString.ReplaceAllStringFunc(p, func(m string) string {
		f := longString.FindStringSubmatch(m)
		return strings.Repeat(f[2], s.number(f[1]))
	})
	switch verb, rest, _ := strings.Cut(p, " "); verb {
	case "think":
		text, signed := strings.CutPrefix(rest, "signed ")
		return reasoningPart(id, s.unquote(text), signed)
	case "file":
		mime := map[string]string{"image": "image/png", "text": "text/plain"}[rest]
		return obj{"id": id, "type": "file", "mime": mime, "url": "data:" + mime + ";base64,AAAA"}
	case "reminder":
		return obj{"id": "reminder-0-" + id, "type": "text", "text": s.unquote(rest), "synthetic": true}
	case "ignored":
		return obj{"id": id, "type": "text", "text": s.unquote(rest), "ignored": true}
	case "call":
		return s.call(id, p)
	}
	return textPart(id, p)
}

var longString = regexp.MustCompile(`\{(\d+) (\w)\}`)

func (s *story) call(id, p string) obj {
	s.t.Helper()
	m := callPart.FindStringSubmatch(p)
	if m == nil {
		s.t.Fatalf("cannot read %q", p)
	}
	part := toolPart(id, m[2], m[1], mjson.Value(m[3]), s.unquote(m[5]))
	// encoding/json must not change the order in which the story writes the arguments
	part["state"].(obj)["input"] = json.RawMessage(m[3])
	state := part["state"].(obj)
	switch m[4] {
	case "error":
		state["status"], state["error"] = "error", state["output"]
		delete(state, "output")
	case "interrupted":
		state["status"], state["error"] = "error", "Tool execution aborted"
		state["metadata"] = obj{"interrupted": true, "output": state["output"]}
		delete(state, "output")
	case "pruned":
		state["time"] = obj{"start": 1, "end": 2, "compacted": 3}
	}
	if m[6] != "" {
		state["attachments"] = []obj{{"type": "file", "mime": "image/png", "url": "data:image/png;base64,BBBB"}}
	}
	return part
}

func (s *story) outcome() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict: %s\n", strings.TrimSpace(fmt.Sprintf("%s %s", s.w.decision.Verdict, s.w.decision.Cause)))
	if s.w.result.Bust {
		fmt.Fprintf(&b, "bust: %s\n", s.w.result.BustCause)
	}
	if edits := s.w.decision.Edits; len(edits) > 0 {
		var list []string
		for _, e := range edits {
			list = append(list, fmt.Sprintf("%d %s", e.Tag, e.Kind))
		}
		fmt.Fprintf(&b, "edits: %s\n", strings.Join(list, ", "))
	}
	if queue := s.w.session.State.Queue(); len(queue) > 0 {
		fmt.Fprintf(&b, "queue: %s\n", strings.ReplaceAll(tagsOf(queue), ",", " "))
	}
	b.WriteString(against(s.w.previous, s.w.wire))
	return b.String()
}

func against(before, after []render.WireMessage) string {
	var b strings.Builder
	var run []string
	endRun := func() {
		switch len(run) {
		case 0:
		case 1:
			fmt.Fprintf(&b, "= %s\n", run[0])
		default:
			fmt.Fprintf(&b, "= %s..%s\n", run[0], run[len(run)-1])
		}
		run = nil
	}
	next := 0
	goneUntil := func(k int) {
		for ; next < k; next++ {
			endRun()
			fmt.Fprintf(&b, "- %s\n", before[next].Key)
		}
	}
	for i := range after {
		m := &after[i]
		stays := func(o render.WireMessage) bool {
			return slices.ContainsFunc(after[i:], func(m render.WireMessage) bool { return o.Key == m.Key })
		}
		for next < len(before) && !stays(before[next]) {
			goneUntil(next + 1)
		}
		if next < len(before) && before[next].Key == m.Key {
			next++
			if before[next-1].Hash() == m.Hash() {
				run = append(run, m.Key)
				continue
			}
		}
		endRun()
		b.WriteString(line(m))
	}
	endRun()
	goneUntil(len(before))
	return b.String()
}

func (s *story) number(text string) int {
	s.t.Helper()
	n, err := strconv.Atoi(text)
	must(s.t, err)
	return n
}

func (s *story) unquote(text string) string {
	s.t.Helper()
	out, err := strconv.Unquote(text)
	must(s.t, err)
	return out
}
