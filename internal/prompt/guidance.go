package prompt

import (
	"embed"
	"strings"
	"sync"
	"text/template"

	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/schema"
)

//go:embed prompts/*.md
var prompts embed.FS

// The guidance is parsed at its first use. A bridge process never uses it, and so starts faster.
var guidance = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(prompts, "prompts/*.md")) })

// guidanceHeading shows that a system prompt already contains the guidance.
const guidanceHeading = "## Magic Context"

// guidanceFor returns the instructions that the model needs in a mode, or "". They contain no
// documents, profiles or memories. If one of these changed, the system prompt would change, and the
// provider's cached prefix would be lost.
func guidanceFor(m mode.Mode, cfg schema.Config) string {
	var files []string
	switch {
	case m.IsSubagent && m.Reduces:
		files = []string{"subagent.md"}
	case m.IsSubagent:
	case m.Reduces:
		files = []string{"primary.md", "reduce.md", "primary_closing.md"}
	default:
		files = []string{"primary.md", "primary_closing.md"}
	}
	var b strings.Builder
	for _, f := range files {
		// The templates are embedded and their data fits, so no error is possible.
		_ = guidance().ExecuteTemplate(&b, f, struct {
			ProtectedTags int
			Memory        bool
		}{cfg.ProtectedTags, cfg.Memory.Enabled})
	}
	return strings.TrimSpace(b.String())
}
