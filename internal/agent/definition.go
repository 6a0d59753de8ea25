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

type definition struct {
	schema.AgentDefinition
	isOffered func(schema.Config) bool
}

// A hidden agent gets as few tools as possible. The history contains text that other people wrote. If a hidden agent
// could read files, a text in the history could make it read a private file and copy the file into a summary. The
// harness is no protection: it may let hidden agents read without asking, and may follow links out of the project.
var definitions = []definition{
	// The historian answers in one step. If a model calls a tool by mistake, it can answer in the second step.
	{schema.AgentDefinition{Name: historian.Agent, Description: "Summarises the history of a session for magicctx.", Prompt: brief, Tools: []string{}, Steps: 2}, summarises},
	{schema.AgentDefinition{Name: historian.EditorAgent, Description: "Revises a summary for magicctx.", Prompt: brief, Tools: []string{}, Steps: 1}, summarises},
	{schema.AgentDefinition{Name: dreamer.Agent, Description: "Tends the memories of a project for magicctx.", Prompt: brief, Tools: []string{}, Steps: 1}, func(cfg schema.Config) bool { return !cfg.Dreamer.Disable }},
	// The sidekick needs no search tool: it names its queries, and the host runs the searches. In Pi, it could not have
	// one, because hidden agents run without extensions, and ctx_search comes from an extension.
	{schema.AgentDefinition{Name: sidekick.Agent, Description: "Chooses what a prompt gets from earlier messages, for magicctx.", Prompt: brief, Tools: []string{}, Steps: 1}, func(cfg schema.Config) bool { return !cfg.Sidekick.Disable }},
}

func summarises(cfg schema.Config) bool { return !cfg.Historian.Disable }

//go:embed agent.md
var agentMD string

// brief is the system prompt that each agent is registered with. A harness reads it only at its start, so each run
// sends the real system prompt itself.
var brief = strings.TrimSpace(agentMD)

func Definitions(cfg schema.Config) []schema.AgentDefinition {
	all := []schema.AgentDefinition{}
	for _, d := range definitions {
		if d.isOffered(cfg) {
			all = append(all, d.AgentDefinition)
		}
	}
	return all
}

func StepsOf(name string) int {
	d, _ := definitionOf(name)
	return d.Steps
}

func definitionOf(name string) (schema.AgentDefinition, error) {
	i := slices.IndexFunc(definitions, func(d definition) bool { return d.Name == name })
	if i < 0 {
		return schema.AgentDefinition{}, fmt.Errorf("there is no hidden agent %q", name)
	}
	return definitions[i].AgentDefinition, nil
}
