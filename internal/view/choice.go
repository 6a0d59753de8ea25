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
	// Selected is the index of the selected session in the chosen order. The screen shows this session's details in a
	// card.
	Selected int
	// Opened is the session that fills the screen, for example "pi/3f2a". If it is empty, the screen shows the list.
	Opened string
	// Top is the number of lines that are scrolled out above the screen, while a session fills it.
	Top  int
	Sort int
	// The list shows only the sessions whose title, model, directory, harness or id contains Filter. Query is the text
	// that the person looks for in messages. Typing says which of the two the keys change, if any.
	Filter, Query string
	Typing        Typing
	// Only the sessions of Harness are shown, or all sessions if Harness is empty.
	Harness schema.Harness
}

type Typing string

const (
	TypesNothing Typing = ""
	TypesFilter  Typing = "filter"
	TypesQuery   Typing = "search in messages"
)

// The host sends the sessions newest first.
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

func (c Choice) apply(all []schema.SessionStatus) []schema.SessionStatus {
	wanted := strings.ToLower(c.Filter)
	shown := slices.DeleteFunc(slices.Clone(all), func(st schema.SessionStatus) bool {
		about := []string{st.Title, st.Directory, st.Model.ID, string(st.Harness), st.Session}
		return c.Harness != "" && st.Harness != c.Harness || !strings.Contains(strings.ToLower(strings.Join(about, "\n")), wanted)
	})
	slices.SortStableFunc(shown, orders[c.Sort%len(orders)].compare)
	return shown
}

// An Action is work that a key asks for, and that the view leaves to its caller, for example Quit.
type Action string

// All actions but Quit show a page of text.
const (
	NoAction  Action = ""
	Quit      Action = "quit"
	Find      Action = "search"
	Dropped   Action = "dropped"
	Summaries Action = "summaries"
	Memories  Action = "memories"
	Spent     Action = "spend"
)

var actions = map[string]Action{"q": Quit, "Q": Quit, "ctrl+c": Quit, "ctrl+d": Quit, "d": Dropped, "h": Summaries, "m": Memories, "p": Spent}

const keyHelp = `q         quits; ctrl-c too
esc       goes back; in the list, it clears the filter
enter     opens the selected session: its prompt, and its requests as they come
↑ ↓       move or scroll; so do k and j, page up and page down, home and end
/         filters the sessions by title, project, model, harness or id
s         sorts the sessions
f         finds words in the messages of all sessions, as "magicctx-host search"
d         lists what the session no longer sends; "history expand" prints it again
h         shows the summaries of the session
m         shows the memories of the session's project
p         shows what magicctx's own questions to models have cost

The bar is the window of the model, filled by the last prompt. A bust, which sends
the prompt again with less in it, may come from the mark "bust" on, and frees space
down to the mark "low". The sign … stands where a text was cut. More: docs/status.md
`

const page = 10

// The function `moved` returns the position after a key was pressed. The second result is false if the key does not
// move the position.
func moved(at int, key string, last int) (int, bool) {
	switch key {
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup":
		at -= page
	case "pgdown", "space":
		at += page
	case "home", "g":
		at = 0
	case "end", "G":
		at = last
	default:
		return at, false
	}
	return min(max(0, at), max(0, last)), true
}

// Pressed returns the live data after a key was pressed, and the action that the key asks for. `text` is the text that
// the key types. `below` is the number of lines below the screen, as Screen has returned it.
func (v Live) Pressed(key, text string, below int) (Live, Action) {
	c := &v.Choice
	if c.Typing != TypesNothing {
		return v.typed(key, text)
	}
	if action := actions[key]; action != NoAction {
		return v, action
	}
	switch key {
	case "?":
		v.Page = &TextPage{Title: "Keys", Text: keyHelp}
		return v, NoAction
	case "f":
		c.Typing, c.Query = TypesQuery, ""
		return v, NoAction
	}
	switch {
	case v.Page != nil:
		next := *v.Page
		next.Top, _ = moved(next.Top, key, next.Top+below)
		if v.Page = &next; key == "esc" || key == "backspace" {
			v.Page = nil
		}
	case c.Opened != "":
		c.Top, _ = moved(c.Top, key, c.Top+below)
		if key == "esc" || key == "backspace" {
			c.Opened, c.Top = "", 0
		}
	default:
		v.inList(key)
	}
	return v, NoAction
}

func (v *Live) inList(key string) {
	c := &v.Choice
	var isMove bool
	if c.Selected, isMove = moved(c.Selected, key, len(v.matching())-1); isMove {
		return
	}
	switch key {
	case "enter":
		if st := v.Chosen(); st != nil {
			c.Opened = nameOf(*st)
		}
	case "s":
		c.Sort, c.Selected = (c.Sort+1)%len(orders), 0
	case "/":
		c.Typing = TypesFilter
	case "esc":
		c.Filter, c.Selected = "", 0
	}
}

func (v Live) typed(key, text string) (Live, Action) {
	c := &v.Choice
	typed := &c.Filter
	if c.Typing == TypesQuery {
		typed = &c.Query
	} else {
		c.Selected = 0
	}
	switch key {
	case "ctrl+c":
		return v, Quit
	case "enter":
		if c.Typing == TypesQuery && strings.TrimSpace(c.Query) != "" {
			c.Typing = TypesNothing
			return v, Find
		}
		c.Typing = TypesNothing
	case "esc":
		*typed, c.Typing = "", TypesNothing
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(*typed)
		*typed = (*typed)[:len(*typed)-size]
	default:
		*typed += format.Clean(text)
	}
	return v, NoAction
}

// nameOf includes the harness, because sessions of two harnesses may have the same id.
func nameOf(st schema.SessionStatus) string { return string(st.Harness) + "/" + st.Session }

func (v Live) matching() []schema.SessionStatus {
	if v.Status == nil {
		return nil
	}
	return v.Choice.apply(v.Status.Sessions)
}

// Chosen returns the session that fills the screen, or else the selected session of the list. It returns nil if there
// is no session.
func (v Live) Chosen() *schema.SessionStatus {
	if v.Choice.Opened != "" {
		return v.opened()
	}
	all := v.matching()
	if len(all) == 0 {
		return nil
	}
	return &all[min(max(0, v.Choice.Selected), len(all)-1)]
}

func (v Live) opened() *schema.SessionStatus {
	if v.Status == nil || v.Choice.Opened == "" {
		return nil
	}
	i := slices.IndexFunc(v.Status.Sessions, func(st schema.SessionStatus) bool { return nameOf(st) == v.Choice.Opened })
	if i < 0 {
		return nil
	}
	return &v.Status.Sessions[i]
}

func (v Live) help() []string {
	c := v.Choice
	switch {
	case c.Typing != TypesNothing:
		text := c.Filter
		if c.Typing == TypesQuery {
			text = c.Query
		}
		return []string{string(c.Typing) + ": " + format.Clean(text) + "▏", "enter", "esc"}
	case v.Page != nil:
		return []string{"esc back", "q quits", "↑↓ scroll", "? help"}
	case c.Opened != "":
		return []string{"esc back", "q quits", "? help", "↑↓ scroll", "d dropped", "h summaries", "m memories", "f finds", "p spend"}
	}
	keys := []string{"q quits", "? help", "enter opens", "↑↓ scroll", fmt.Sprintf("s sorts (%s)", orders[c.Sort%len(orders)].name), "/ filters"}
	if c.Filter != "" {
		keys[len(keys)-1] = fmt.Sprintf("/ filters (%s, esc clears)", format.Clean(c.Filter))
	}
	return append(keys, "f finds", "m memories", "p spend", "d dropped")
}
