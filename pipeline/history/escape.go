package history

import (
	"regexp"
	"strings"
)

// The head marks its structure with tags, for example <compartment>. Foreign text
// (titles, summaries, memories, documents) must not look like such a tag, so the
// package escapes each "<", ">" and "&" in it.
var (
	contentEscapes   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	attributeEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
)

// escapeContent escapes the text between two tags.
func escapeContent(text string) string { return contentEscapes.Replace(text) }

// escapeAttribute escapes the value of an attribute. The value becomes one line,
// so that each tag stands on one line.
func escapeAttribute(text string) string { return attributeEscapes.Replace(oneLine(text)) }

// oneLine joins the words of a text with single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// element wraps lines in a tag: <name>, the lines, </name>.
func element(name string, lines ...string) string {
	return "<" + name + ">\n" + strings.Join(lines, "\n") + "\n</" + name + ">"
}

// tagStart is the beginning of a tag, such as `§12§`.
var tagStart = regexp.MustCompile(`§(\d)`)

// WithoutTags changes a foreign text so that nothing in it looks like a tag of the host: `§12§` becomes `§ 12§`, and
// "§823 BGB" stays readable.
func WithoutTags(text string) string { return tagStart.ReplaceAllString(text, "§ $1") }
