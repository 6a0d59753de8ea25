package text

import (
	"regexp"
	"strings"
)

// hole stands for a protected region while Compress edits the text. The byte is not valid in UTF-8, so it cannot occur
// in the text itself, and it is never part of a word.
const hole = '\xFF'

// In a guarded text, holes replace the protected regions. `regions` contains these regions in the order of the holes.
// So an edit must neither remove a hole nor change the order of the holes.
type guarded struct {
	text    string
	regions []string
}

var (
	address = regexp.MustCompile(`https?://[^\s\x{0B}\x{FEFF}\p{Z}]+`)
	tag     = regexp.MustCompile(`§[0-9]+§`)
	path    = regexp.MustCompile(`(?:\.{1,2}/)?(?:[\w.-]+/)+[\w.-]+\.\w{1,6}`)
)

// The regions are code, addresses, tags, ids, paths and hashes.
func protect(text string) guarded {
	g := guarded{text: text}
	g.guard(fences(g.text))
	g.guard(inlineCode(g.text))
	g.guard(address.FindAllStringIndex(g.text, -1))
	g.guard(tag.FindAllStringIndex(g.text, -1))
	g.guard(ids(g.text))
	g.guard(paths(g.text))
	g.guard(hashes(g.text))
	return g
}

// guard replaces more spans of the text with holes. The spans must be in order and must not overlap. If a span already
// contains holes, its region gets the text of these holes.
func (g *guarded) guard(spans [][]int) {
	if len(spans) == 0 {
		return
	}
	var text strings.Builder
	regions := make([]string, 0, len(g.regions)+len(spans))
	left, at := g.regions, 0
	for _, span := range spans {
		outside := g.text[at:span[0]]
		text.WriteString(outside)
		n := strings.Count(outside, string([]byte{hole}))
		regions, left = append(regions, left[:n]...), left[n:]

		inside := g.text[span[0]:span[1]]
		n = strings.Count(inside, string([]byte{hole}))
		regions, left = append(regions, fill(inside, left[:n])), left[n:]
		text.WriteByte(hole)
		at = span[1]
	}
	text.WriteString(g.text[at:])
	g.text, g.regions = text.String(), append(regions, left...)
}

func (g guarded) restored() string { return fill(g.text, g.regions) }

func fill(text string, regions []string) string {
	if len(regions) == 0 {
		return text
	}
	var b strings.Builder
	for _, region := range regions {
		before, after, _ := strings.Cut(text, string([]byte{hole}))
		b.WriteString(before)
		b.WriteString(region)
		text = after
	}
	b.WriteString(text)
	return b.String()
}

// fences returns the spans of fenced code. As in Markdown, an open fence ends at the end of the text.
func fences(s string) [][]int {
	var spans [][]int
	for i := 0; ; {
		open := strings.Index(s[i:], "```")
		if open < 0 {
			return spans
		}
		open += i
		n := backticks(s[open:])
		end := len(s)
		for j := open + n; ; {
			k := strings.Index(s[j:], "```")
			if k < 0 {
				break
			}
			j += k
			if m := backticks(s[j:]); m >= n {
				end = j + m
				break
			} else {
				j += m
			}
		}
		spans = append(spans, []int{open, end})
		i = end
	}
}

func backticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

func inlineCode(s string) [][]int {
	var spans [][]int
	for i := 0; ; {
		open := strings.IndexByte(s[i:], '`')
		if open < 0 {
			return spans
		}
		open += i
		n := strings.IndexAny(s[open+1:], "`\n")
		if n < 0 {
			return spans
		}
		end := open + 1 + n
		switch {
		case s[end] == '\n':
			i = end
		case n == 0: // two in a row enclose nothing
			i = end
		default:
			i = end + 1
			spans = append(spans, []int{open, i})
		}
	}
}

// ids returns the spans of the ids of messages, sessions and calls, for example toolu_01.
func ids(s string) [][]int {
	var spans [][]int
	for i := 0; ; {
		sign := strings.IndexByte(s[i:], '_')
		if sign < 0 {
			return spans
		}
		sign += i
		start := sign
		for start > i && isAlnum(s[start-1]) {
			start--
		}
		end := sign + 1
		for end < len(s) && isAlnum(s[end]) {
			end++
		}
		touches := start > 0 && s[start-1] == '_'
		if kind := s[start:sign]; !touches && end > sign+1 && (kind == "msg" || kind == "ses" || kind == "toolu") {
			spans = append(spans, []int{start, end})
			i = end
		} else {
			i = sign + 1
		}
	}
}

func paths(s string) [][]int {
	var spans [][]int
	for i := 0; ; {
		slash := strings.IndexByte(s[i:], '/')
		if slash < 0 {
			return spans
		}
		slash += i
		start, end := slash, slash
		for start > i && isPathByte(s[start-1]) {
			start--
		}
		for end < len(s) && isPathByte(s[end]) {
			end++
		}
		for _, at := range path.FindAllStringIndex(s[start:end], -1) {
			spans = append(spans, []int{start + at[0], start + at[1]})
		}
		i = end
	}
}

func isPathByte(c byte) bool { return c == '/' || c == '.' || c == '-' || c == '_' || isAlnum(c) }

// hashes returns the spans of commit ids: 7 to 40 hex digits, without a letter or digit directly before or after.
func hashes(s string) [][]int {
	var spans [][]int
	for i := 0; i < len(s); {
		if !isAlnum(s[i]) {
			i++
			continue
		}
		start, hex := i, true
		for ; i < len(s) && isAlnum(s[i]); i++ {
			hex = hex && (s[i] <= '9' || lowerASCII(s[i]) <= 'f')
		}
		if n := i - start; hex && n >= 7 && n <= 40 {
			spans = append(spans, []int{start, i})
		}
	}
	return spans
}
