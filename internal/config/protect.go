package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// An untrusted project may set patterns, and a pass matches these patterns against every path of a session. The time
// that this takes grows with the length of all patterns times the length of the path, so both lengths are bounded.
const (
	maxPatterns     = 64
	maxPatternBytes = 256
	// maxAlternatives bounds the alternatives of one pattern: "{a,b}/{c,d}" has four.
	maxAlternatives = 32
	// maxNameBytes is the longest path that an operating system opens.
	maxNameBytes = 4096
)

// Patterns are names of tools or paths with wildcards:
//
//	?      one character, but not a slash
//	*      any number of characters, but no slash
//	**     any number of directories
//	{a,b}  a or b
//	[a-z]  one character of a range
type Patterns []*regexp.Regexp

// CompilePatterns leaves out invalid patterns, and all patterns after the first maxPatterns. Load has already warned
// the user of them.
func CompilePatterns(list []string) Patterns {
	var p Patterns
	for _, text := range list {
		if len(p) == maxPatterns {
			break
		}
		if expression, err := compilePattern(text); err == nil {
			p = append(p, expression)
		}
	}
	return p
}

func (p Patterns) MatchName(name string) bool {
	if len(name) > maxNameBytes {
		return false
	}
	for _, expression := range p {
		if expression.MatchString(name) {
			return true
		}
	}
	return false
}

// MatchPath reports whether a pattern matches `path`, which is an argument of a tool and usually absolute. A pattern
// may match the whole path, or the part of the path below `directory`.
func (p Patterns) MatchPath(directory, path string) bool {
	if len(path) > maxNameBytes {
		return false
	}
	if p.MatchName(filepath.ToSlash(path)) {
		return true
	}
	if len(p) == 0 || directory == "" || !filepath.IsAbs(path) {
		return false
	}
	rel, err := filepath.Rel(directory, path)
	return err == nil && filepath.IsLocal(rel) && p.MatchName(filepath.ToSlash(rel))
}

var errPattern = errors.New("the pattern ends inside [ or {, or closes what it has not opened")

// compilePattern translates a pattern to a regular expression. An untrusted project may write a pattern such as
// "{,}{,}{,}…" with 60 pairs. For this pattern, a backtracking matcher would need 2^60 attempts. Package regexp matches
// every pattern in linear time.
func compilePattern(text string) (*regexp.Regexp, error) {
	if len(text) > maxPatternBytes {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	t := patternTranslator{rest: text, alternatives: 1, atStart: true}
	if err := t.translate(); err != nil {
		return nil, err
	}
	return regexp.Compile(`(?s)^(?:` + t.out.String() + `)$`)
}

type patternTranslator struct {
	rest         string
	out          strings.Builder
	open         []int // for each open brace, the number of its alternatives so far
	alternatives int
	atStart      bool // the rest begins a component of the path
}

func (t *patternTranslator) translate() error {
	for t.rest != "" {
		atStart := t.atStart
		t.atStart = false
		switch c := t.rest[0]; c {
		case '*':
			t.stars(atStart)
		case '?':
			t.emit(1, `[^/]`)
		case '/':
			if after := t.rest[1:]; strings.HasPrefix(after, "**") && t.endsComponent(after[2:]) && !strings.HasPrefix(after[2:], "/") {
				t.emit(3, `(?:/.*)?`) // "a/**" matches a itself as well
				continue
			}
			t.emit(1, "/")
			t.atStart = true
		case '{':
			t.open = append(t.open, 1)
			t.emit(1, "(?:")
			t.atStart = atStart
		case ',', '}':
			if err := t.alternative(c); err != nil {
				return err
			}
		case '[':
			if err := t.class(); err != nil {
				return err
			}
		case '\\':
			if len(t.rest) < 2 {
				return errPattern
			}
			t.emit(2, regexp.QuoteMeta(t.rest[1:2]))
		default:
			t.emit(1, regexp.QuoteMeta(t.rest[:1]))
		}
	}
	if len(t.open) > 0 {
		return errPattern
	}
	return nil
}

func (t *patternTranslator) emit(n int, expression string) {
	t.out.WriteString(expression)
	t.rest = t.rest[n:]
}

// A ** within a name, for example "a**b", means the same as *.
func (t *patternTranslator) stars(atStart bool) {
	after, isDouble := strings.CutPrefix(t.rest, "**")
	switch {
	case !isDouble:
		t.emit(1, `[^/]*`)
	case atStart && strings.HasPrefix(after, "/"):
		t.emit(3, `(?:.*/)?`)
		t.atStart = true
	case atStart && t.endsComponent(after):
		t.emit(2, `.*`)
	default:
		t.emit(2, `[^/]*`)
	}
}

func (t *patternTranslator) endsComponent(rest string) bool {
	return rest == "" || rest[0] == '/' || len(t.open) > 0 && (rest[0] == ',' || rest[0] == '}')
}

// Outside of braces, a comma is an ordinary character.
func (t *patternTranslator) alternative(c byte) error {
	last := len(t.open) - 1
	switch {
	case c == ',' && last < 0:
		t.emit(1, ",")
		return nil
	case last < 0:
		return errPattern
	case c == ',':
		t.open[last]++
		t.emit(1, "|")
		t.atStart = true
		return nil
	}
	if t.alternatives *= t.open[last]; t.alternatives > maxAlternatives {
		return fmt.Errorf("the pattern has more than %d alternatives", maxAlternatives)
	}
	t.open = t.open[:last]
	t.emit(1, ")")
	return nil
}

// class translates [abc], [a-z] and their negations with ! or ^.
func (t *patternTranslator) class() error {
	end := strings.IndexByte(t.rest[1:], ']')
	if end <= 0 {
		return errPattern
	}
	inner, negation := t.rest[1:end+1], ""
	if inner[0] == '!' || inner[0] == '^' {
		inner, negation = inner[1:], "^/"
	}
	if inner == "" {
		return errPattern
	}
	quoted := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`, `&`, `\&`, `~`, `\~`).Replace(inner)
	t.emit(end+2, "["+negation+quoted+"]")
	return nil
}
