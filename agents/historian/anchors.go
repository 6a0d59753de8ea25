package historian

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/terms"
)

type AnchorKind string

const (
	RuleAnchor AnchorKind = "rule" // a sentence of the user that says how things must be
	// DecisionAnchor is a sentence of the model that says what was decided.
	DecisionAnchor AnchorKind = "decision"

	TodoAnchor    AnchorKind = "todo"    // an open item of the newest todo list
	WrittenAnchor AnchorKind = "written" // a file that a tool has changed
	ErrorAnchor   AnchorKind = "error"   // a line of the user or the model that reports a failure
	CommitAnchor  AnchorKind = "commit"  // a commit hash
	CommandAnchor AnchorKind = "command" // a command that was run
	PathAnchor    AnchorKind = "path"    // a file that was mentioned or read
	NumberAnchor  AnchorKind = "number"  // a number with three digits, a unit or a decimal point
	SymbolAnchor  AnchorKind = "symbol"  // an identifier
	// ToolErrorAnchor is a line in which a tool, a command or a file reports a failure. A tool's text cannot be
	// trusted, so a label such as "a tool said" always precedes the line.
	ToolErrorAnchor AnchorKind = "tool error"
)

// anchorKinds holds, for each kind, how much one anchor weighs in the score, and how many anchors are kept. The
// weights rank the losses: a lost symbol can be found again in the code, but a lost rule of the user cannot. The
// maximum keeps one kind, such as the numbers of a long listing, from outweighing all others.
var anchorKinds = map[AnchorKind]struct{ weight, most int }{
	RuleAnchor:     {8, 20},
	DecisionAnchor: {7, 20},
	TodoAnchor:     {5, 20},
	WrittenAnchor:  {5, 40},
	ErrorAnchor:    {4, 20},
	CommitAnchor:   {4, 20},
	CommandAnchor:  {2, 30},
	PathAnchor:     {2, 40},
	NumberAnchor:   {1, 40},
	SymbolAnchor:   {1, 40},

	ToolErrorAnchor: {4, 20},
}

type Anchor struct {
	Kind    AnchorKind
	Text    string
	Ordinal int // of the first message that contains the anchor
}

// A hostile output may be megabytes long and consist of one line, so these constants limit the search for anchors.
const (
	scannedText    = 32 << 10  // bytes of one text or output: its first and its last part
	scannedTexts   = 512 << 10 // bytes of all texts of a range
	scannedOutputs = 2 << 20   // bytes of all outputs of a range
	maxAnchorText  = 200       // runes of one anchor
	maxPathText    = 160       // bytes; longer words are data, not paths
	maxSentence    = 400       // bytes; longer sentences are pasted text
)

// Anchors extracts the anchors of messages, sorted by weight, ordinal and text. In tool outputs, and in texts that
// the message's author has not written, it looks only for error lines, because the paths of one long listing would
// crowd out all other anchors.
func Anchors(messages []Message) []Anchor {
	c := newCollector()
	for i := range messages {
		c.message(&messages[i])
	}
	c.todos(messages)
	slices.SortStableFunc(c.found, func(a, b Anchor) int {
		return cmp.Or(
			cmp.Compare(anchorKinds[b.Kind].weight, anchorKinds[a.Kind].weight),
			cmp.Compare(a.Ordinal, b.Ordinal),
			cmp.Compare(a.Text, b.Text),
		)
	})
	return c.found
}

type collector struct {
	found []Anchor
	seen  map[string]bool
	count map[AnchorKind]int
	// `texts` and `outputs` are the numbers of bytes that may still be searched in texts and in outputs.
	texts, outputs int
	// The map `lines` holds the lines that were already searched. Logs repeat their lines, so this saves time.
	lines map[string]bool
}

func newCollector() collector {
	return collector{seen: map[string]bool{}, lines: map[string]bool{}, count: map[AnchorKind]int{}, texts: scannedTexts, outputs: scannedOutputs}
}

// isFull reports whether a kind already has its maximum number of anchors, so that the search for more can be
// skipped.
func (c *collector) isFull(kind AnchorKind) bool { return c.count[kind] >= anchorKinds[kind].most }

func (c *collector) add(kind AnchorKind, text string, ordinal int) {
	if c.isFull(kind) {
		return
	}
	text = cut(oneLine(clean(text)), maxAnchorText)
	key := strings.ToLower(text)
	if text == "" || c.seen[key] {
		return
	}
	if kind != RuleAnchor && kind != ToolErrorAnchor && len(quoteMarks(text)) > 0 {
		return // without a label, a line with "U:" would look like a quote of the user
	}
	c.count[kind]++
	c.seen[key] = true
	c.found = append(c.found, Anchor{Kind: kind, Text: text, Ordinal: ordinal})
}

// scan returns the first and last part of a long text, because an error message is usually at one end of an output.
// `left` is the number of bytes that may still be searched. scan subtracts the bytes that it returns.
func scan(text string, left *int) string {
	if len(text) > scannedText {
		text = text[:scannedText/2] + "\n" + text[len(text)-scannedText/2:]
	}
	text = text[:min(len(text), *left)]
	*left -= len(text)
	return clean(text)
}

func (c *collector) message(m *Message) {
	for _, call := range m.Calls {
		c.call(&call, m.Ordinal)
	}
	for _, text := range m.Texts {
		text = scan(text, &c.texts)
		kind, is := DecisionAnchor, isDecision
		if m.Role == User {
			kind, is = RuleAnchor, isRule
		}
		c.statements(kind, is, unquoted(text), m.Ordinal)
		c.errors(ErrorAnchor, text, m.Ordinal)
		c.words(text, m.Ordinal)
	}
	for _, text := range m.Others {
		c.errors(ToolErrorAnchor, scan(text, &c.outputs), m.Ordinal)
	}
}

func (c *collector) statements(kind AnchorKind, is func(sentence string) bool, text string, ordinal int) {
	for _, s := range sentences(text) {
		if c.isFull(kind) {
			return
		}
		if is(s) {
			c.add(kind, s, ordinal)
		}
	}
}

func (c *collector) call(call *Call, ordinal int) {
	for _, a := range stringArguments(call.Arguments) {
		switch {
		case slices.Contains(commandArguments[:], a.name):
			c.add(CommandAnchor, firstLine(a.text), ordinal)
		case slices.Contains(pathArguments[:], a.name) && len(a.text) <= maxPathText:
			kind := PathAnchor
			if call.Writes {
				kind = WrittenAnchor
			}
			c.add(kind, a.text, ordinal)
		}
	}
	output := scan(call.Output, &c.outputs)
	before := c.count[ToolErrorAnchor]
	c.errors(ToolErrorAnchor, output, ordinal)
	if call.IsError && c.count[ToolErrorAnchor] == before {
		c.add(ToolErrorAnchor, firstLine(output), ordinal)
	}
}

func (c *collector) errors(kind AnchorKind, text string, ordinal int) {
	for line := range strings.Lines(text) {
		if c.isFull(kind) {
			return
		}
		if len(line) > maxSentence || c.lines[line] {
			continue
		}
		c.lines[line] = true
		if isErrorLine(line) {
			c.add(kind, line, ordinal)
		}
	}
}

// An output can have thousands of lines and few errors, and matching errorLine is slow. So isErrorLine first looks
// for fragments of error words, which is fast.
func isErrorLine(line string) bool {
	return (terms.MayBeFailure(line) || errorCode().MatchString(line)) && errorLine().MatchString(line)
}

func (c *collector) words(text string, ordinal int) {
	if !c.isFull(PathAnchor) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isInPath(r) }) {
			c.paths(word, ordinal)
		}
	}
	c.matches(CommitAnchor, commit(), text, ordinal)
	c.matches(NumberAnchor, number(), text, ordinal)
	c.matches(SymbolAnchor, symbol(), text, ordinal)
}

// The method `matches` adds an anchor for each match of the pattern. The anchor is the text of the pattern's group. A
// pattern may have several groups, but then only one of them is non-empty in a match.
func (c *collector) matches(kind AnchorKind, pattern *regexp.Regexp, text string, ordinal int) {
	if c.isFull(kind) {
		return
	}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		c.add(kind, strings.Join(m[1:], ""), ordinal)
	}
}

// The method `paths` splits a long word at colons, because the word may be a list of paths, such as the value of
// PATH. The pattern is slow on long words: at each position, it searches the rest of the word for a slash.
func (c *collector) paths(word string, ordinal int) {
	if len(word) > maxPathText {
		for _, piece := range strings.Split(word, ":") {
			if len(piece) <= maxPathText {
				c.paths(piece, ordinal)
			}
		}
		return
	}
	for _, m := range path().FindAllString(word, -1) {
		if m = strings.Trim(m, "./,;:"); strings.ContainsAny(m, "/.") {
			c.add(PathAnchor, m, ordinal)
		}
	}
}

// isInPath reports whether r can be part of a path, according to the pattern of paths.
func isInPath(r rune) bool {
	return r < utf8.RuneSelf && (isWord(r) || strings.ContainsRune(`@.+-/\:~`, r))
}

// The method `todos` reads only the newest todo list, because older lists are out of date.
func (c *collector) todos(messages []Message) {
	for _, m := range slices.Backward(messages) {
		for _, call := range slices.Backward(m.Calls) {
			if items, ok := todoList(call.Arguments); ok {
				for _, item := range items {
					if item.Status != "completed" && item.Status != "cancelled" {
						c.add(TodoAnchor, item.Content, m.Ordinal)
					}
				}
				return
			}
		}
	}
}

type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// The todo tools of both harnesses have the argument "todos".
func todoList(arguments json.Value) ([]todo, bool) {
	var list struct {
		Todos []todo `json:"todos"`
	}
	if len(arguments) > scannedText || !strings.Contains(string(arguments), `"todos"`) {
		return nil, false
	}
	return list.Todos, json.Unmarshal(arguments, &list) == nil && list.Todos != nil
}

var (
	pathArguments    = [...]string{"filePath", "file_path", "path", "notebook_path", "file"}
	commandArguments = [...]string{"command", "cmd"}
)

type textArgument struct{ name, text string }

// stringArguments returns the arguments that are strings, in order.
func stringArguments(arguments json.Value) []textArgument {
	if !arguments.IsValid() { // json.Members requires valid JSON
		return nil
	}
	names, values, err := json.Members(arguments)
	if err != nil {
		return nil
	}
	var found []textArgument
	for i, name := range names {
		var text string
		if len(values[i]) <= scannedText && json.Unmarshal(values[i], &text) == nil {
			found = append(found, textArgument{name, text})
		}
	}
	return found
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

var (
	// errorCode matches the name of an operating system's error, for example ENOENT.
	errorCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bE[A-Z]{4,}\b`) })
	errorLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i:\b(?:error|exception|panic|fatal|traceback|failed|failure|denied|refused|not found|undefined|cannot|segmentation fault)\b)|\b[A-Za-z]+(?:Error|Exception)\b|\bE[A-Z]{4,}\b|^--- FAIL`)
	})
	path = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:[A-Za-z]:\\|~?/|\.{1,2}/)?(?:[\w@.+-]+[/\\])+[\w@.+-]+|\b[\w-]+\.(?:go|ts|tsx|js|jsx|mjs|py|rs|c|h|cc|cpp|java|kt|rb|php|cs|swift|sh|sql|md|txt|json|jsonc|yml|yaml|toml|html|css|lock|mod|proto|xml|env|cfg|ini)\b`)
	})
	// A commit hash has both letters and digits: "facade" has no digits, and a date has no letters.
	commit = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b((?:[0-9]+[a-f]|[a-f]+[0-9])[0-9a-f]{4,38})\b`)
	})
	number = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[\s(=:,"'` + "`" + `])(v?\d+(?:[.,_]\d+)+|\d{3,}|\d+\s?(?:%|ms|s|min|h|kB|KB|KiB|MB|MiB|GB|GiB|TB|px|tokens)\b|\d+\s?%)`)
	})
	symbol = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("`([A-Za-z_][\\w.:$-]{2,80}(?:\\(\\))?)`" + `|\b([a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}|[a-zA-Z]+(?:_[a-zA-Z0-9]+)+|[A-Za-z_]\w*\(\))`)
	})
)
