package recall

import (
	"cmp"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/magicctx/magicctx-host/internal/indexing"
	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store/index"
)

// A cue holds the search terms for a new prompt or result: names, a failure, and lines.
type cue struct {
	// names are files, symbols and commands, from the arguments of a call or from the text of a prompt.
	names  []name
	failed failure
	lines  []string
}

func (c *cue) isEmpty() bool { return len(c.names)+len(c.failed.errors)+len(c.lines) == 0 }

// A prompt of more than maxPrompt bytes gives no cue, because it most likely contains pasted data.
const maxPrompt = 4_000

// cueOf returns the cue of a part. directory is the session's directory. A prompt shorter than
// minPrompt UTF-16 units gives no cue.
func cueOf(v *transcript.Vocabulary, p *transcript.Part, directory string, minPrompt int) (c cue) {
	switch p.Kind {
	case transcript.Text:
		text := ""
		for _, s := range p.Said() {
			if s.Origin == transcript.FromUser {
				text += s.Text + "\n"
			}
		}
		if text = strings.TrimSpace(text); len(utf16.Encode([]rune(text))) < minPrompt || len(text) > maxPrompt {
			return c
		}
		c.names = seenFrom(directory, namesIn(text))
		for s := range terms.Sentences(text) {
			if len(c.lines) < maxLines {
				c.lines = append(c.lines, s)
			}
		}
	case transcript.Tool:
		c = cueOfCall(v, p, directory)
	}
	return c
}

func cueOfCall(v *transcript.Vocabulary, p *transcript.Part, directory string) (c cue) {
	report := ""
	isKnown := p.Exited || p.IsError
	for _, chunk := range indexing.Call(v, p) {
		switch chunk.Kind {
		case index.Command:
			if c.failed.command = commandOf(chunk.Text); c.failed.command != "" {
				c.names = append(c.names, name{c.failed.command, aCommand})
				c.names = append(c.names, pathsIn(chunk.Text)...)
			}
			if !isKnown { // the harness has not sent how the command ended
				report = cmp.Or(indexing.Failure(p.Text), lastLines(p.Text))
			}
		case index.Read, index.Write:
			c.names = append(c.names, name{chunk.Subject, aPath})
		case index.Error:
			report = chunk.Text
		}
	}
	c.names = seenFrom(directory, c.names)
	for line := range strings.Lines(report) {
		if s := signatureOf(line); s != nil && len(c.failed.errors) < maxFailures {
			c.failed.errors = append(c.failed.errors, s)
		}
	}
	return c
}

func seenFrom(directory string, all []name) []name {
	for i := range all {
		if n := &all[i]; n.kind == aPath {
			n.text = relative(directory, n.text)
		}
	}
	return all
}

func relative(directory, file string) string {
	if rest, ok := strings.CutPrefix(file, strings.TrimSuffix(directory, "/")+"/"); ok && directory != "" {
		file = rest
	}
	return cleanPath(filepath.ToSlash(file))
}

// The last lines of an output often report a failure.
func lastLines(output string) string {
	const lines, most = 2, 400
	output = strings.TrimSpace(output[max(0, len(output)-most):])
	at := len(output)
	for range lines {
		if at = strings.LastIndexByte(output[:at], '\n'); at < 0 {
			return output
		}
	}
	return output[at+1:]
}

func pathsIn(command string) (all []name) {
	for _, n := range namesIn(command) {
		if n.kind == aPath {
			all = append(all, n)
		}
	}
	return all
}
