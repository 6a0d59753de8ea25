package agent

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/schema"
)

// definitions is the table of the hidden agents. Whoever adds an agent adds its row here.
//
// An agent has no tools unless it cannot work without them. The history contains text that other people wrote.
// If a hidden agent could read files, such a text could make it copy a file into a summary that the user never
// meant to show to a model. The harness is no protection: it may let a hidden agent read without asking the
// user, and may follow links out of the project.
var definitions = []schema.AgentDefinition{
	// A historian answers in one step. The second step is for a model that calls a tool although it has none.
	{Name: historian.Agent, Description: "Summarises the history of a session for magicctx.", Tools: []string{}, Steps: 2},
	{Name: historian.EditorAgent, Description: "Revises a summary for magicctx.", Tools: []string{}, Steps: 1},
}

// prompt is the prompt of every definition. The harness keeps it until it restarts, so each run sends the
// current system prompt itself.
//
//go:embed agent.md
var prompt string

// Definitions returns the hidden agents that a harness registers.
func Definitions() []schema.AgentDefinition {
	all := slices.Clone(definitions)
	for i := range all {
		all[i].Prompt = strings.TrimSpace(prompt)
	}
	return all
}

// definitionOf returns the definition of a hidden agent.
func definitionOf(name string) (schema.AgentDefinition, error) {
	i := slices.IndexFunc(definitions, func(d schema.AgentDefinition) bool { return d.Name == name })
	if i < 0 {
		return schema.AgentDefinition{}, fmt.Errorf("there is no hidden agent %q", name)
	}
	return definitions[i], nil
}
