package history

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
)

// telling holds the names of the arguments that tell a reader most about a call, the best first. If isCut is set, a
// long value is cut.
var telling = []argument{
	{"filePath", true},
	{"path", true},
	{"pattern", true},
	{"query", true},
	{"symbol", false},
	{"module", false},
	{"action", false},
	// Calls of Pi's bash, and fetches, have no description.
	{"command", true},
	{"url", true},
}

type argument struct {
	name  string
	isCut bool
}

// maxArgument is the number of characters of an argument that a summary shows.
const maxArgument = 60

// summary describes a call in a chunk, for example "TC: List files" or "TC: grep(func main)", without its result.
func (c *Call) summary() string {
	tool, args := collapse(c.Tool), c.arguments() // a name with a line end could look like a block
	if d := collapse(args["description"]); d != "" {
		return "TC: " + d
	}
	for _, t := range telling {
		arg := collapse(args[t.name])
		if arg == "" {
			continue
		}
		if short := []rune(arg); t.isCut && len(short) > maxArgument {
			arg = string(short[:maxArgument]) + "…"
		}
		return "TC: " + tool + "(" + arg + ")"
	}
	return "TC: " + tool
}

func (c *Call) arguments() map[string]string {
	names, values, err := json.Members(c.Input)
	if err != nil {
		return nil
	}
	texts := make(map[string]string, len(names))
	for i, name := range names {
		var s string
		if isTold(name) && values[i].Kind() == '"' && json.Unmarshal(values[i], &s) == nil {
			texts[name] = s
		}
	}
	return texts
}

func isTold(name string) bool {
	return name == "description" || slices.ContainsFunc(telling, func(a argument) bool { return a.name == name })
}
