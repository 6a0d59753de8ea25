package history

import (
	"regexp"
	"strings"
)

// The head marks its structure with XML tags, for example <compartment>, and the host marks units with tags such as
// §12§. A text inside the head, for example a title, must look like neither, so it is escaped.
var (
	contentEscapes   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	attributeEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
)

func escapeContent(text string) string { return contentEscapes.Replace(WithoutTags(text)) }

// escapeAttribute escapes the value of an attribute, and joins its lines, so that each tag is on one line.
func escapeAttribute(text string) string { return attributeEscapes.Replace(WithoutTags(oneLine(text))) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func element(name string, lines ...string) string {
	return "<" + name + ">\n" + strings.Join(lines, "\n") + "\n</" + name + ">"
}

var tagStart = regexp.MustCompile(`§(\d)`)

// WithoutTags changes a text so that no part looks like a tag of the host: `§12§` becomes `§ 12§`.
func WithoutTags(text string) string { return tagStart.ReplaceAllString(text, "§ $1") }
