package view

// The colours are named by their meaning.
type colour string

const (
	plain  colour = ""
	faint  colour = "2"
	strong colour = "1"
	notice colour = "33" // yellow
	alarm  colour = "31" // red
)

func (s *screen) paint(c colour, text string) string {
	if !s.color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
