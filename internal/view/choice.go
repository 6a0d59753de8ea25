package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// A Choice says which sessions a person wants to see, and in which order.
type Choice struct {
	// Selected is the index, in the chosen order, of the session that has the card.
	Selected int
	// Sort is the index of the chosen order in orders.
	Sort int
	// Filter keeps the sessions whose title, model, directory, harness or id contains it. IsTyping means
	// that keys go into the filter.
	Filter   string
	IsTyping bool
	// Harness shows the sessions of this harness only. If it is empty, the sessions of all harnesses show.
	Harness schema.Harness
}

// orders are the orders of the sessions. The host sends them newest first.
var orders = []struct {
	name    string
	compare func(a, b schema.SessionStatus) int
}{
	{"newest", func(a, b schema.SessionStatus) int { return 0 }},
	{"fullest", func(a, b schema.SessionStatus) int { return cmp.Compare(b.Pressure, a.Pressure) }},
	{"most busts", func(a, b schema.SessionStatus) int { return cmp.Compare(b.Busts, a.Busts) }},
	{"most saved", func(a, b schema.SessionStatus) int { return cmp.Compare(savedMoney(b), savedMoney(a)) }},
}

func savedMoney(st schema.SessionStatus) float64 {
	if st.Saved == nil {
		return 0
	}
	return st.Saved.Money
}

// apply returns the chosen sessions in the chosen order.
func (c Choice) apply(all []schema.SessionStatus) []schema.SessionStatus {
	wanted := strings.ToLower(c.Filter)
	shown := slices.DeleteFunc(slices.Clone(all), func(st schema.SessionStatus) bool {
		about := []string{st.Title, st.Directory, st.Model.ID, string(st.Harness), st.Session}
		return c.Harness != "" && st.Harness != c.Harness || !strings.Contains(strings.ToLower(strings.Join(about, "\n")), wanted)
	})
	slices.SortStableFunc(shown, orders[c.Sort%len(orders)].compare)
	return shown
}

// These are the keys of the live screen that are not characters. Their values are in Unicode's private
// use area.
const (
	KeyUp rune = 0xE000 + iota
	KeyDown
	KeyPageUp
	KeyPageDown
	KeyHome
	KeyEnd
	KeyEscape
	KeyEnter
	KeyBackspace
)

// page is the number of sessions that a page key moves by.
const page = 10

// Pressed returns the choice after a key, and whether the person wants to leave. total is the number of
// sessions that the host knows.
func (c Choice) Pressed(key rune, total int) (next Choice, quits bool) {
	if c.IsTyping {
		return c.typed(key), false
	}
	switch key {
	case 'q', 'Q':
		return c, true
	case KeyUp, 'k':
		c.Selected--
	case KeyDown, 'j':
		c.Selected++
	case KeyPageUp:
		c.Selected -= page
	case KeyPageDown:
		c.Selected += page
	case KeyHome, 'g':
		c.Selected = 0
	case KeyEnd, 'G':
		c.Selected = total
	case 's':
		c.Sort, c.Selected = (c.Sort+1)%len(orders), 0
	case '/':
		c.IsTyping = true
	case KeyEscape:
		c.Filter, c.Selected = "", 0
	}
	c.Selected = min(max(0, c.Selected), max(0, total-1))
	return c, false
}

func (c Choice) typed(key rune) Choice {
	c.Selected = 0
	switch {
	case key == KeyEnter:
		c.IsTyping = false
	case key == KeyEscape:
		c.IsTyping, c.Filter = false, ""
	case key == KeyBackspace:
		_, size := utf8.DecodeLastRuneInString(c.Filter)
		c.Filter = c.Filter[:len(c.Filter)-size]
	case key >= ' ' && key < KeyUp:
		c.Filter += string(key)
	}
	return c
}

// Matching returns how many sessions the choice shows.
func (c Choice) Matching(st *schema.StatusResult) int {
	if st == nil {
		return 0
	}
	return len(c.apply(st.Sessions))
}

// help is the line at the foot of the live screen.
func (c Choice) help() string {
	if c.IsTyping {
		return "filter: " + format.Clean(c.Filter) + "▏  enter keeps it, esc clears it"
	}
	text := fmt.Sprintf("q quits · ↑↓ scroll · s sorts (%s) · / filters", orders[c.Sort%len(orders)].name)
	if c.Filter != "" {
		text += fmt.Sprintf(" (%s, esc clears)", format.Clean(c.Filter))
	}
	return text
}
