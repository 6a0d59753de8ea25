package history

import (
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// RenderCompartment returns the XML element of a compartment at a tier from 1 to 4, or "" for an archived compartment.
// The element contains the ordinals of the summarised messages, so that the model can read these messages with
// ctx_expand.
func RenderCompartment(c *chronicle.Compartment, tier int) string {
	if tier >= Archived {
		return ""
	}
	tag := `<compartment start="` + strconv.Itoa(c.Start) + `" end="` + strconv.Itoa(c.End) +
		`" title="` + escapeAttribute(c.Title) + `"`
	body := bodyOf(c, max(tier, 1))
	if body == "" {
		return tag + " />"
	}
	return tag + ">\n" + body + "\n</compartment>"
}

// bodyOf returns the compartment's text at a tier. At the tiers 1 and 2, its last line lists the missing anchors.
func bodyOf(c *chronicle.Compartment, tier int) string {
	text := escapeContent(strings.TrimSpace(textOf(c, tier)))
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

func textOf(c *chronicle.Compartment, tier int) string {
	if tier == 4 {
		return c.Tiers[3]
	}
	for ; tier > 1 && c.Tiers[tier-1] == ""; tier-- {
	}
	return c.Tiers[tier-1]
}
