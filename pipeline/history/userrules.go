package history

import (
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// rulesBudget limits the user's rules in the head, in tokens. In a small window, they get a share of the history's
// budget.
const (
	rulesBudget = 400
	rulesShare  = 0.1
)

const rulesNotice = "Rules that the user has typed in messages whose summaries no longer contain them. They still hold, unless a later message of the user says otherwise."

// userRules returns the section of the user's lasting rules that no compartment shows any more, oldest first. A
// compartment loses such a rule when it decays, but the model must follow the rule for the rest of the session. If the
// rules exceed the budget, the section shows the newest.
func userRules(compartments []chronicle.Compartment, tiers []int, historyBudget int, count func(string) int) string {
	left := min(rulesBudget, int(rulesShare*float64(historyBudget)))
	seen := map[string]bool{}
	var lines []string
	for i, c := range slices.Backward(compartments) {
		for _, r := range slices.Backward(c.Rules) {
			words := oneLine(r.Words)
			if seen[words] {
				continue
			}
			seen[words] = true
			line := `  <rule message="` + strconv.Itoa(r.Message) + `">` + escapeContent(WithoutTags(words)) + "</rule>"
			if size := count(line); size <= left && !isShown(r, tiers[i]) {
				left -= size
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Reverse(lines)
	return element("user-rules", append([]string{rulesNotice}, lines...)...)
}

// isShown reports whether a compartment at this tier shows the rule, in its text or in the line of missing anchors.
func isShown(r chronicle.Rule, tier int) bool {
	return tier <= r.Tiers || r.Tiers == 0 && tier <= missingTiers
}
