package history

import (
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// rulesBudget limits the user's rules in one section, in tokens, without the notice. In a small window, they get a share
// of the history's budget. The shortest rule has about leastRule tokens.
const (
	rulesBudget = 400
	rulesShare  = 0.1
	leastRule   = 12
)

const rulesNotice = "Rules in the user's own words, oldest first, from messages that summaries have replaced. A rule holds unless a later one, or a later message of the user, says otherwise."

// userRules returns the section with the user's lasting rules that no compartment shows word by word. The line of missing
// anchors does not count, because it only says that the summary lacks something. A compartment loses its rules when it
// decays, but the model must follow them for the rest of the session. If the rules exceed the budget, the section shows
// the newest.
func userRules(name string, compartments []chronicle.Compartment, tiers []int, historyBudget int, count func(string) int) string {
	budget := min(rulesBudget, int(rulesShare*float64(historyBudget)))
	seen := map[string]bool{}
	var lines []string
	for i, c := range slices.Backward(compartments) {
		for _, r := range slices.Backward(c.Rules) {
			words := oneLine(r.Words)
			if budget < leastRule || seen[words] {
				continue
			}
			seen[words] = true
			if tiers[i] <= r.Tiers {
				continue
			}
			line := `  <rule message="` + strconv.Itoa(r.Message) + `">` + escapeContent(words) + "</rule>"
			if size := count(line); size <= budget {
				budget -= size
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Reverse(lines)
	return element(name, append([]string{rulesNotice}, lines...)...)
}
