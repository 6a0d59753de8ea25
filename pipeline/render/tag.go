package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

const sectionSign = "§"

// Prefix returns the tag as the model sees it: `§12§ ` for tag 12.
func Prefix(tag int) string { return sectionSign + strconv.Itoa(tag) + sectionSign + " " }

// Placeholder returns the text that replaces a dropped unit: `[dropped §12§]` for tag 12. It does not depend on the
// content, because the content may change.
func Placeholder(tag int) string { return "[dropped §" + strconv.Itoa(tag) + "§]" }

// standIn returns the text that replaces a unit's content.
func standIn(u *frozen.Unit) string {
	if u.Edit != frozen.Withhold {
		return Placeholder(u.Tag)
	}
	return fmt.Sprintf("[left out §%d§: about %d tokens, which do not fit into the window. If you need it, "+
		"read it in parts: some lines of a file at a time, or a command that prints less.]", u.Tag, u.Tokens)
}

// CutImitations removes tags from the start of a text: `§12§ hi` becomes `hi` if isGiven(12). A model that sees tags
// before all content sometimes writes a tag itself, and each such tag makes the next one more likely.
//
// Callers pass only texts of the model. In a text of a user or tool, a tag is content.
//
// Section signs are frequent in legal and mathematical texts. So CutImitations removes only the exact form of Prefix,
// with the blank, and only if isGiven accepts the number. It does not change `§823 BGB`, `§12`, `§12§hi`, `see §12§
// there`, or blanks before the first tag. If a text has only tags, it does not change the text, because providers
// refuse blank text.
func CutImitations(text string, isGiven func(tag int) bool) string {
	body := strings.TrimLeftFunc(text, isJSSpace)
	blanks := text[:len(text)-len(body)]
	rest := body
	for {
		tag, after, ok := cutPrefix(rest)
		if !ok || !isGiven(tag) {
			break
		}
		rest = after
	}
	if len(rest) == len(body) {
		return text
	}
	return unlessBlank(blanks+rest, text)
}

func StartsWithTag(text string) bool {
	_, _, ok := cutPrefix(strings.TrimLeftFunc(text, isJSSpace))
	return ok
}

func cutPrefix(text string) (tag int, rest string, ok bool) {
	inner, ok := strings.CutPrefix(text, sectionSign)
	if !ok {
		return 0, text, false
	}
	number, _, ok := strings.Cut(inner, sectionSign)
	if !ok {
		return 0, text, false
	}
	tag, err := strconv.Atoi(number)
	if err != nil {
		return 0, text, false
	}
	// strconv.Atoi also accepts the numbers of `§+7§ ` and `§007§ `, but Prefix never writes these.
	rest, ok = strings.CutPrefix(text, Prefix(tag))
	return tag, rest, ok
}
