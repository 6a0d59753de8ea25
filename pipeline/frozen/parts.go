package frozen

// Parts holds the sizes of units on the wire by their kind, in tokens. Removed content is not included.
type Parts struct {
	Text, Files, Inputs, Results int
}

// Add counts a unit, whether or not the head covers it.
func (p *Parts) Add(u *Unit) {
	if u.Edit != Drop {
		p.Inputs += u.InputTokens
	}
	switch {
	case strength[u.Edit] >= strength[Withhold]:
	case u.Kind == ToolUnit:
		p.Results += u.Tokens
	case u.Kind == FileUnit:
		p.Files += u.Tokens
	default:
		p.Text += u.Tokens
	}
}

// Replace replaces a part of the sizes.
func (p *Parts) Replace(before, after Parts) {
	p.Text += after.Text - before.Text
	p.Files += after.Files - before.Files
	p.Inputs += after.Inputs - before.Inputs
	p.Results += after.Results - before.Results
}

// Tokens returns the sum.
func (p Parts) Tokens() int { return p.Text + p.Files + p.Inputs + p.Results }
