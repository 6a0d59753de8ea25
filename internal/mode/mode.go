package mode

import (
	"fmt"
	"slices"
	"strings"
)

// ReduceTool is the tool with which a model drops its own tool output.
const ReduceTool = "ctx_reduce"

// A Mode says what kind of session it is, and whether its model may drop its own
// tool output. The zero Mode is "primary-no-reduce".
type Mode struct {
	// IsSubagent means that the session works for another session.
	IsSubagent bool
	// Reduces means that the model may call ctx_reduce. It then sees tags, so that it
	// can name what to drop.
	Reduces bool
}

// all lists the modes in the order in which their names are shown to people.
var all = []Mode{{Reduces: true}, {}, {IsSubagent: true, Reduces: true}, {IsSubagent: true}}

// String returns the mode's name, for example "subagent-no-reduce".
func (m Mode) String() string {
	name := "primary"
	if m.IsSubagent {
		name = "subagent"
	}
	if !m.Reduces {
		name += "-no-reduce"
	}
	return name
}

// Names returns the names of all modes.
func Names() []string {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.String()
	}
	return names
}

// Parse returns the mode with that name.
func Parse(name string) (Mode, error) {
	i := slices.IndexFunc(all, func(m Mode) bool { return m.String() == name })
	if i < 0 {
		return Mode{}, fmt.Errorf("unknown mode %q, want one of %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}
