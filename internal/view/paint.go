package view

// A Colour is named by its meaning. Its value is the parameter of ECMA-48's SGR sequence.
type Colour string

const (
	Plain  Colour = ""
	Faint  Colour = "2"
	Strong Colour = "1"
	Good   Colour = "32" // green
	Notice Colour = "33" // yellow
	Alarm  Colour = "31" // red
)

// A Painter colours text, or leaves it plain on an output without colours.
type Painter bool

func (p Painter) Paint(c Colour, text string) string {
	if !p || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
