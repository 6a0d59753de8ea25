package format

import "fmt"

// A Carry describes content that a bust could remove. Tokens is its size. Paid is the cost of sending this content with
// every request since the last bust, and Price is the cost of a bust that removes it. Both have the same unit, because
// only their ratio is shown. Cost is Paid in $, or 0 if the price of the model is unknown.
type Carry struct {
	Tokens, Paid, Price int
	Cost                float64
}

// Spending describes the spending setting and its effect, for example "balanced: removing early saved about $3.10 so
// far". If the setting is unknown, it returns "".
func Spending(setting string, early float64, c Carry) string {
	text := setting
	switch {
	case setting == "":
		return ""
	case early > 0:
		text += ": removing early saved " + AboutDollars(early) + " so far"
	case early < 0:
		text += ": removing early cost " + AboutDollars(-early) + " so far, and saves with each request"
	}
	if setting != "generous" || c.Tokens <= 0 || c.Price <= 0 {
		return text // with any other setting, a bust removes this content soon
	}
	text += fmt.Sprintf("; %s tokens could go, and carrying them cost %s of what removing them costs", Tokens(c.Tokens), Percent(float64(c.Paid)/float64(c.Price)))
	if c.Cost > 0 {
		text += " (" + AboutDollars(c.Cost) + ")"
	}
	return text
}

// OrEarlier returns ", or earlier if that saves money", for a sentence that says when content will be removed. With the
// settings balanced and frugal, this may happen before the prompt is full. With other settings, OrEarlier returns "".
func OrEarlier(setting string) string {
	if setting == "" || setting == "generous" {
		return ""
	}
	return ", or earlier if that saves money"
}
