package tool

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/dream"
	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/notice"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/status"
	"github.com/magicctx/magicctx-host/internal/summary"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Tools runs the tools that the model calls, and the commands that the user types.
type Tools struct {
	Options
	// mu guards sidekicks, which maps each session to its newest run of the sidekick. A run is removed when it ends.
	mu        sync.Mutex
	sidekicks map[store.Key]*sidekickRun
}

type Options struct {
	Store    *store.Store
	Guard    *store.Guard
	Sessions *session.Sessions
	Models   *model.Models
	Clients  *client.Registry
	Passes   *pass.Engine
	History  *summary.Historian
	Statuses *status.Statuses
	Dreamer  *dream.Dreamer
	// Agents runs the sidekick as a job of Background. Notices tell the user what the sidekick has found.
	Agents     *agent.Runner
	Background *background.Work
	Notices    *notice.Notices
	// Attach adds a text to the session's next prompt (see prompt.Prompts.Attach). The caller holds the lock of the
	// session.
	Attach func(s *session.Session, text string, end func())
	// IndexDir is the directory of the index of messages, or "".
	IndexDir string
	// Embeddings is the service that turns queries into vectors. It may be nil.
	Embeddings *embedding.Source
	Clock      clock.Clock
	Log        *slog.Logger
}

func New(o Options) *Tools { return &Tools{Options: o, sidekicks: make(map[store.Key]*sidekickRun)} }

// A tool can be called by the model. If a call is wrong, the result of the tool is the reason, so that the model can
// correct the call.
type tool struct {
	name, description string
	parameters        json.Value
	// If isOffered is nil, every configuration offers the tool.
	isOffered func(schema.Config) bool
	run       func(*Tools, context.Context, store.Key, schema.ToolExecuteParams) (schema.ToolExecuteResult, error)
}

// A new tool needs a row here.
var toolTable = []tool{expandTool, searchTool, memoryTool, noteTool, reduceTool}

type command struct {
	name, description string
	run               func(*Tools, context.Context, client.Client, store.Key, schema.CommandExecuteParams) (schema.CommandExecuteResult, error)
}

// A new command needs a row here.
var commandTable = []command{augmentCommand, dreamCommand, flushCommand, menuCommand, recompCommand, statusCommand, wrapUpCommand}

func Definitions(cfg schema.Config) (all []schema.ToolDefinition) {
	for _, t := range toolTable {
		if t.isOffered == nil || t.isOffered(cfg) {
			all = append(all, schema.ToolDefinition{Name: t.name, Description: strings.TrimSpace(t.description), Parameters: t.parameters})
		}
	}
	return all
}

func Commands() (all []schema.CommandDefinition) {
	for _, c := range commandTable {
		all = append(all, schema.CommandDefinition{Name: c.name, Description: c.description})
	}
	return all
}

func (t *Tools) Run(ctx context.Context, key store.Key, p schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
	for _, tool := range toolTable {
		if tool.name == p.Tool {
			return tool.run(t, ctx, key, p)
		}
	}
	return schema.ToolExecuteResult{}, client.Invalid("there is no tool %q", p.Tool)
}

func (t *Tools) Execute(ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	for _, command := range commandTable {
		if command.name == p.Command {
			return command.run(t, ctx, c, key, p)
		}
	}
	return schema.CommandExecuteResult{}, client.Invalid("there is no command %q", p.Command)
}
