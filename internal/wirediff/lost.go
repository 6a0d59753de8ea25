package wirediff

import (
	"context"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store"
)

// A Lost is a piece of a message that the model no longer sees.
type Lost struct {
	Message rawhistory.Message
	Tag     int    // 0 if the piece has none
	Tool    string // "" if the piece is no call of a tool
	text    string
}

// Find returns the newest lost piece of a session that contains `words`, or nil. It reads the harness's own store,
// because the index contains no outputs of tools.
func Find(ctx context.Context, words string, snap store.Snapshot, within rawhistory.Session, read Read) (found *Lost, err error) {
	codec, ok := transcript.CodecOf(string(within.Harness))
	if !ok {
		return nil, nil
	}
	through, removed := 0, make(map[int]bool)
	if snap.Head != nil {
		through = snap.Head.ThroughOrdinal
	}
	for _, e := range snap.Edits {
		if e.Kind == "drop" || e.Kind == "skeleton" || e.Kind == "withhold" {
			removed[e.Tag] = true
		}
	}
	edited := make(map[string]bool) // messages with a removed unit, by key
	for _, u := range snap.Units {
		if removed[u.Tag] {
			edited[u.MessageKey] = true
		}
	}
	if through == 0 && len(edited) == 0 {
		return nil, nil
	}
	var pinned []string // prompts that the head covers, but that stay on the wire
	if snap.Head != nil {
		_ = json.Unmarshal([]byte(snap.Head.Pinned), &pinned) // without it, a pinned prompt counts as summarised
	}
	pipe := session.AsOf(snap, math.MaxInt, codec)
	_, err = read(ctx, within, 1, math.MaxInt, func(m rawhistory.Message) bool {
		isCovered := m.Ordinal <= through && (m.Decoded == nil || !slices.Contains(pinned, m.Decoded.Key))
		if m.Decoded == nil || !isCovered && !edited[m.Decoded.Key] || !contains(m.Decoded.Parts, words) {
			return true
		}
		pipe.Update(0, []json.Value{m.Raw}, "")
		pipe.Render(pipeline.Decision{})
		for _, f := range pipeline.FormsOf(pipe, m.Decoded.Key) {
			isLost := isCovered || removed[f.Tag] && !Contains(formOf(f.Sent), words)
			if isLost && contains([]transcript.Part{f.Raw}, words) {
				found = &Lost{m, f.Tag, f.Raw.Name, formOf(&f.Raw)}
			}
		}
		return true
	})
	return found, err
}

// Excerpt returns the lines of the piece that contain the words, with a few lines around them.
func (l *Lost) Excerpt(words string) string {
	const before, lines, mostBytes = 1, 5, 600
	all := strings.Split(l.text, "\n")
	end := sort.Search(len(all), func(i int) bool { return !Contains(strings.Join(all[i:], "\n"), words) }) // the words begin in the line before
	start := max(0, end-1-before)
	text := strings.Join(all[start:min(start+lines, len(all))], "\n")
	if first := strings.Index(strings.ToLower(text), strings.ToLower(strings.Fields(words)[0])); first > mostBytes/2 && len(text) > mostBytes { // a long line before the words
		text = "…" + strings.ToValidUTF8(text[first-mostBytes/4:], "")
	}
	return format.Shorten(text, mostBytes)
}

func contains(parts []transcript.Part, words string) bool {
	for i := range parts {
		if p := &parts[i]; p.Kind != transcript.Reasoning && Contains(formOf(p), words) {
			return true
		}
	}
	return false
}

// Contains reports whether the text contains the words. It ignores line breaks, and upper and lower case.
func Contains(text, words string) bool { return strings.Contains(inOneLine(text), inOneLine(words)) }

func inOneLine(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
