package schema

// A Panel is a session's status for the harness's own screen. All harnesses show the same texts. Each text is one line
// without control characters, so that a terminal can show it. The panel is not drawn again while nothing happens, so
// its texts have times of the day ("14:32") and no ages ("5 minutes ago").
type Panel struct {
	// Line is the panel in at most 80 columns, for example "magicctx 45% of 200k · 7 taken out · saved $1.50 …
	// /ctx-status". Lines say the same without the name, from the longest line to the shortest, for example "45% …". A
	// screen shows the first one for which it has room.
	Line  string   `json:"line"`
	Lines []string `json:"lines"`
	// Size compares the prompt with the window, for example "90k of 200k tokens (45%)".
	Size string `json:"size"`
	// Parts are the sources of the prompt that are not empty, in the order of the bar.
	Parts []PanelPart `json:"parts"`
	// Window is the number of tokens that the whole width of the panel's bar represents. Bust is the prompt size from
	// which a pass may bust, or 0 if it is unknown.
	Window int64 `json:"window"`
	Bust   int64 `json:"bust,omitzero"`
	// Facts are in the order in which they are shown.
	Facts []PanelFact `json:"facts"`
	// Widget is the panel as lines of at most 76 columns, for a harness without a sidebar. It is absent until the first
	// request, and if the user has switched the widget off.
	Widget []string `json:"widget,omitzero"`
}

// A PanelPart is one source of a prompt, for example the summaries.
type PanelPart struct {
	Source string `json:"source" jsonschema:"enum=system,enum=definitions,enum=documents,enum=summaries,enum=memories,enum=conversation,enum=tools,enum=thinking"`
	Name   string `json:"name"`
	Tokens int64  `json:"tokens"`
	// Size is Tokens for a person, for example "12.9k".
	Size string `json:"size"`
}

// A PanelFact is one thing to know about a session, for example "last bust" with "14:32, getting full".
type PanelFact struct {
	Label string `json:"label"`
	Text  string `json:"text"`
	// Tone is "alarm" for a fault, "notice" for a problem that does not keep magicctx from working, and "work" while
	// something is under way.
	Tone string `json:"tone,omitzero" jsonschema:"enum=alarm,enum=notice,enum=work"`
}
