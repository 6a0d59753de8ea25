package mode

import (
	"fmt"
	"slices"
	"strings"
)

const ReduceTool = "ctx_reduce"

// The zero Mode is "primary-no-reduce".
type Mode struct {
	// A subagent's session works for another session.
	IsSubagent bool
	// Reduces means that the model may call ctx_reduce. So it sees the tags that it needs for these calls.
	Reduces bool
}

// People see the names in this order.
var all = []Mode{{Reduces: true}, {}, {IsSubagent: true, Reduces: true}, {IsSubagent: true}}

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

func Names() []string {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.String()
	}
	return names
}

func Parse(name string) (Mode, error) {
	i := slices.IndexFunc(all, func(m Mode) bool { return m.String() == name })
	if i < 0 {
		return Mode{}, fmt.Errorf("unknown mode %q, want one of %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}
