package history

import (
	"slices"
	"strconv"
	"strings"
)

// A Compartment is a summary of the raw messages from ordinal Start to ordinal
// End, both included.
type Compartment struct {
	// Seq numbers the compartments of a session from 0, without gaps.
	Seq        int
	Start, End int
	// Keys holds the key of each message from Start to End, empty if it is unreadable.
	Keys []string
	// AfterSummary is the key of the harness's own summary that the array began with when
	// the compartment was made. It is empty if the array began with the first message.
	AfterSummary string
	Title        string
	// Tiers holds the summary in four lengths, the longest first. An empty tier 2
	// or 3 stands for the tier before it. An empty tier 4 means that the title is
	// enough.
	Tiers [4]string
	// Importance says how long the details are worth keeping, from 1 to 100.
	Importance int
	// Episode names the kinds of work, for example "bug,release". The head does
	// not render it.
	Episode string
	// Missing is the fidelity receipt's line: the anchors of the raw messages that
	// no tier holds, for example "path/a.go · E1234".
	Missing string
}

// EndKey returns the key of the last readable message, or "" if there is none.
func (c *Compartment) EndKey() string { return LastKey(c.Keys) }

// LastKey returns the last key that is not empty, or "" if there is none.
func LastKey(keys []string) string {
	for _, key := range slices.Backward(keys) {
		if key != "" {
			return key
		}
	}
	return ""
}

// RenderCompartment returns the element of a compartment at a tier, 1 to 4. It
// names the range, so that the model can expand it. An archived compartment
// renders as nothing.
func RenderCompartment(c *Compartment, tier int) string {
	if tier >= Archived {
		return ""
	}
	tag := `<compartment start="` + strconv.Itoa(c.Start) + `" end="` + strconv.Itoa(c.End) +
		`" title="` + escapeAttribute(c.Title) + `"`
	body := c.body(max(tier, 1))
	if body == "" {
		return tag + " />"
	}
	return tag + ">\n" + body + "\n</compartment>"
}

// body returns the escaped text of a tier. Tiers 1 and 2 end with the line of the
// missing anchors.
func (c *Compartment) body(tier int) string {
	text := escapeContent(strings.TrimSpace(c.textOf(tier)))
	missing := oneLine(c.Missing)
	if tier > 2 || missing == "" {
		return text
	}
	line := "missing: " + escapeContent(missing)
	if text == "" {
		return line
	}
	return text + "\n" + line
}

func (c *Compartment) textOf(tier int) string {
	if tier == 4 {
		return c.Tiers[3]
	}
	for ; tier > 1 && c.Tiers[tier-1] == ""; tier-- {
	}
	return c.Tiers[tier-1]
}
