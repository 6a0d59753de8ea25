package agent

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/agents/dreamer"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/agents/sidekick"
	"github.com/magicctx/magicctx-host/schema"
)

// A definition describes a hidden agent: what a harness registers, and which configurations offer it.
type definition struct {
	schema.AgentDefinition
	isOffered func(schema.Config) bool
}

// definitions is the table of the hidden agents. A new agent needs a row here.
//
// An agent has only tools that it cannot work without. The history contains text that other people wrote. If a hidden
// agent could read files, a text in the history could make the agent read a private file and copy its content into a
// summary. The harness is no protection: it may let a hidden agent read without asking the user, and may follow links
// out of the project.
var definitions = []definition{
	// A historian answers in one step. The second step is for a model that calls a tool although it has none.
	{schema.AgentDefinition{Name: historian.Agent, Description: "Summarises the history of a session for magicctx.", Prompt: brief, Tools: []string{}, Steps: 2}, summarises},
	{schema.AgentDefinition{Name: historian.EditorAgent, Description: "Revises a summary for magicctx.", Prompt: brief, Tools: []string{}, Steps: 1}, summarises},
	// The dreamer needs no tool: its question contains the memories, and what the host has found about them in files.
	{schema.AgentDefinition{Name: dreamer.Agent, Description: "Tends the memories of a project for magicctx.", Prompt: brief, Tools: []string{}, Steps: 1}, func(cfg schema.Config) bool { return !cfg.Dreamer.Disable }},
	// The sidekick answers with words, and the host searches for them. With the tool ctx_search, it could not work in Pi, whose
	// hidden agents run without extensions, and the cost of its steps would have no bound.
	{schema.AgentDefinition{Name: sidekick.Agent, Description: "Chooses what a prompt gets from earlier messages, for magicctx.", Prompt: brief, Tools: []string{}, Steps: 1}, func(cfg schema.Config) bool { return !cfg.Sidekick.Disable }},
}

func summarises(cfg schema.Config) bool { return !cfg.Historian.Disable }

//go:embed agent.md
var agentMD string

// brief is the prompt with which each agent is registered. A harness keeps a registered prompt until it
// restarts, so each run sends the real system prompt itself.
var brief = strings.TrimSpace(agentMD)

// Definitions returns the hidden agents that a harness registers under a configuration.
func Definitions(cfg schema.Config) []schema.AgentDefinition {
	all := []schema.AgentDefinition{}
	for _, d := range definitions {
		if d.isOffered(cfg) {
			all = append(all, d.AgentDefinition)
		}
	}
	return all
}

// StepsOf returns how many steps a hidden agent may take, or 0 if there is no such agent.
func StepsOf(name string) int {
	d, _ := definitionOf(name)
	return d.Steps
}

// definitionOf returns the definition of a hidden agent.
func definitionOf(name string) (schema.AgentDefinition, error) {
	i := slices.IndexFunc(definitions, func(d definition) bool { return d.Name == name })
	if i < 0 {
		return schema.AgentDefinition{}, fmt.Errorf("there is no hidden agent %q", name)
	}
	return definitions[i].AgentDefinition, nil
}
