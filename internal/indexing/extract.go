package indexing

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/secret"
	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store/index"
)

// A longer text is most likely pasted data.
const (
	maxText    = 64 << 10 // what a message says
	maxChunk   = 1_600    // a piece of it
	maxCommand = 1_000
	maxPath    = 300
	maxError   = 1_200
	maxContext = 300
)

// maxTime is the year 10000, in Unix ms. A later time is treated as unknown.
const maxTime = 253_402_300_800_000

// An extractor turns the messages of one session, in their order, into chunks.
type extractor struct {
	vocabulary *transcript.Vocabulary
	// `prompt` is the beginning of the newest prompt, and `answer` is the end of the newest answer. Each chunk gets
	// both as its context. So a search for the words of an answer also finds the user's next prompt "yes, do that".
	prompt, answer string
}

func (e *extractor) message(m rawhistory.Message) index.Message {
	d := m.Decoded
	out := index.Message{Key: d.Key, Ordinal: m.Ordinal}
	if 0 < d.Created && d.Created < maxTime {
		out.At = d.Created
	}
	if d.Hidden || d.Summary {
		return out
	}
	said := map[index.Role]string{}
	for i := range d.Parts {
		switch p := &d.Parts[i]; p.Kind {
		case transcript.Text:
			if p.Hidden {
				continue
			}
			for _, s := range p.Said() {
				if role, ok := roles[s.Origin]; ok && len(said[role]) < maxText {
					said[role] += clean(s.Text, maxText-len(said[role])) + "\n\n"
				}
			}
		case transcript.Tool:
			out.Chunks = append(out.Chunks, e.call(p)...)
		case transcript.Other:
			out.Chunks = append(out.Chunks, ofUserCommand(p)...)
		}
	}
	for _, role := range [...]index.Role{index.User, index.Agent} {
		text, context := strings.TrimSpace(said[role]), e.prompt
		if text == "" {
			continue
		}
		if role == index.User {
			context = e.answer
			e.prompt, e.answer = beginning(text, maxContext), ""
			out.Chunks = append(out.Chunks, statements(text, context)...)
		} else {
			e.answer = end(text, maxContext)
		}
		for i, piece := range pieces(text) {
			if i > 0 && role == index.User {
				context = ""
			}
			out.Chunks = append(out.Chunks, index.Chunk{Kind: index.Text, Role: role, Text: piece, Context: context})
		}
	}
	out.Hash = hash(out.Chunks)
	return out
}

// The index has no texts of tools, files or the harness, because the model can get these texts again.
var roles = map[transcript.Origin]index.Role{transcript.FromUser: index.User, transcript.FromAgent: index.Agent}

// The hash leaves out the contexts, because a run that begins in the middle of a session does not know all of them.
func hash(chunks []index.Chunk) int64 {
	h := fnv.New64a()
	for i := range chunks {
		c := &chunks[i]
		for _, text := range [...]string{string(c.Kind), string(c.Role), c.Subject, c.Text} {
			h.Write([]byte(text))
			h.Write([]byte{0})
		}
		if c.Status != nil {
			h.Write(binary.AppendVarint(nil, int64(*c.Status)))
		}
	}
	return int64(h.Sum64())
}

// Call returns the chunks of a call that has just ended, as the index will hold them.
func Call(v *transcript.Vocabulary, p *transcript.Part) []index.Chunk {
	return (&extractor{vocabulary: v}).call(p)
}

// The chunks of a call are its command, its files, and the error that it reports.
func (e *extractor) call(p *transcript.Part) (all []index.Chunk) {
	if strings.HasPrefix(p.Name, "ctx_") { // the results of our own tools repeat texts of the index
		return nil
	}
	var a struct {
		Command   string `json:"command"`
		Cmd       string `json:"cmd"`
		FilePath  string `json:"filePath"`
		FilePath2 string `json:"file_path"`
		Notebook  string `json:"notebook_path"`
		Path      string `json:"path"`
		Patch     string `json:"patchText"`
	}
	_ = json.Unmarshal(p.Input, &a) // if one field has another type, the others are decoded all the same
	about := p.Name
	if command := clean(a.Command+a.Cmd, maxCommand); command != "" {
		c := index.Chunk{Kind: index.Command, Role: index.Tool, Text: command}
		if p.Exited {
			c.Status = &p.ExitStatus
		}
		all, about = append(all, c), command
	}
	class := e.vocabulary.Tool(p.Name)
	if class.File != transcript.NoFile && !p.IsError {
		kind := index.Write
		if class.Idempotent {
			kind = index.Read
		}
		for _, path := range append(patched(a.Patch), a.FilePath+a.FilePath2+a.Notebook+a.Path) {
			if path = clean(path, maxPath); path != "" {
				all = append(all, index.Chunk{Kind: kind, Role: index.Tool, Subject: path, Text: path})
			}
		}
	}
	if p.IsError || p.Exited && p.ExitStatus != 0 {
		text := p.Text
		if p.Replaced {
			text = p.Original
		}
		if text = errorLines(text); text != "" {
			all = append(all, index.Chunk{Kind: index.Error, Role: index.Tool, Subject: p.Name, Text: text, Context: beginning(about, maxContext)})
		}
	}
	return all
}

func ofUserCommand(p *transcript.Part) []index.Chunk {
	var ran struct {
		Command  string `json:"command"`
		ExitCode *int   `json:"exitCode"`
	}
	if len(p.Raw) == 0 || json.Unmarshal(p.Raw, &ran) != nil || ran.Command == "" {
		return nil
	}
	return []index.Chunk{{Kind: index.Command, Role: index.User, Text: clean(ran.Command, maxCommand), Status: ran.ExitCode}}
}

func patched(patch string) (paths []string) {
	if patch == "" {
		return nil
	}
	for line := range strings.Lines(patch) {
		for _, begin := range [...]string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(line, begin); ok && len(paths) < 50 {
				paths = append(paths, strings.TrimSpace(path))
			}
		}
	}
	return paths
}

// If no line reports a failure, errorLines returns the end of the output.
func errorLines(output string) string {
	if lines := Failure(output); lines != "" {
		return lines
	}
	return clean(end(strings.TrimSpace(output), maxContext), maxContext)
}

// Failure returns the lines of an output that report a failure, or "".
func Failure(output string) string {
	const most = 32 << 10 // a failure is reported at one of the ends
	if len(output) > most {
		output = beginning(output, most/2) + "\n" + end(output, most/2)
	}
	var lines []string
	size := 0
	for line := range strings.Lines(output) {
		if size >= maxError || !terms.MayBeFailure(line) {
			continue
		}
		if line = strings.TrimSpace(beginning(line, 300)); !slices.Contains(lines, line) {
			lines = append(lines, line)
			size += len(line)
		}
	}
	return clean(strings.Join(lines, "\n"), maxError)
}

func clean(text string, most int) string {
	if len(text) > most {
		text = beginning(text, most)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r > 0x7f && r < 0xa0 }) {
		text = format.CleanLines(strings.ReplaceAll(text, "\r\n", "\n"))
	}
	return secret.Redact(strings.TrimSpace(text))
}

// pieces cuts a text into pieces of at most maxChunk bytes. If the second half of a piece contains the end of a
// paragraph, a line or a word, pieces cuts there.
func pieces(text string) (all []string) {
	for len(text) > maxChunk {
		piece := beginning(text, maxChunk)
		for _, separator := range [...]string{"\n\n", "\n", " "} {
			if i := strings.LastIndex(piece, separator); i > maxChunk/2 {
				piece = piece[:i]
				break
			}
		}
		all = append(all, strings.TrimSpace(piece))
		text = strings.TrimSpace(text[len(piece):])
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}

func beginning(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes]
}

func end(text string, bytes int) string {
	from := max(0, len(text)-bytes)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}
