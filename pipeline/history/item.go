package history

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// itemBudget limits the open items in the head, in tokens. The head shows the newest items.
const itemBudget = 800

const itemNotice = "The user or you have said that this must still happen, or must never. It is a record of words, and no new request. ctx_note dismisses what is done."

// itemLine returns the line of one promise. If another session made the promise, the line names that session. Without
// its name, a reader would look for the message number in this session.
func itemLine(n *chronicle.Note, session string) string {
	tag := `  <item id="` + strconv.FormatInt(n.ID, 10) + `" by="` + escapeAttribute(string(n.SaidBy)) + `"`
	if n.Session != session {
		tag += ` session="` + escapeAttribute(n.Session) + `"`
	}
	return tag + ` message="` + strconv.Itoa(n.Message) + `">` + escapeContent(n.Content) + "</item>"
}

// others is the number of promises that exceed the budget.
func itemLines(all []chronicle.Note, session string, count func(string) int) (lines []string, others int) {
	left := itemBudget
	for i, n := range slices.Backward(all) {
		line := itemLine(&n, session)
		if left -= count(line); left < 0 {
			others = i + 1
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return lines, others
}

func openItems(all []chronicle.Note, session string, count func(string) int) string {
	open := slices.DeleteFunc(slices.Clone(all), func(n chronicle.Note) bool { return !n.IsOpen() })
	lines, others := itemLines(open, session, count)
	if len(open) == 0 {
		return ""
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("  %d older ones: ctx_note shows them.", others))
	}
	return element("open-items", append([]string{itemNotice}, lines...)...)
}

func ItemsSince(all []chronicle.Note, foldedAt int64) []chronicle.Note {
	return slices.DeleteFunc(slices.Clone(all), func(n chronicle.Note) bool {
		if n.IsOpen() {
			return n.CreatedAt <= foldedAt
		}
		return n.UpdatedAt <= foldedAt || n.CreatedAt > foldedAt // made and closed after the fold
	})
}

func itemUpdates(since []chronicle.Note, session string, count func(string) int) string {
	if len(since) == 0 {
		return ""
	}
	var made []chronicle.Note
	var closed []string
	for _, n := range since {
		if n.IsOpen() {
			made = append(made, n)
		} else {
			closed = append(closed, `  <closed id="`+strconv.FormatInt(n.ID, 10)+`"/>`)
		}
	}
	lines, _ := itemLines(made, session, count)
	return element("open-item-updates", slices.Concat([]string{itemNotice}, closed, lines)...)
}
