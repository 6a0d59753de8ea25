package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/magicctx/magicctx-host/internal/bug"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// tokensBySource splits the size of a session by the source of its content, for
// example the system prompt or tool output.
func tokensBySource(s store.SessionReport) schema.TokensBySource {
	t := schema.TokensBySource{System: int64(s.System.SystemTokens)}
	for _, sum := range s.Sums {
		kept := sum.Tokens - sum.DroppedTokens
		switch sum.Kind {
		case "text":
			t.Text += kept
		case "file":
			t.Files += kept
		case "tool":
			t.ToolResults += kept
			t.ToolInputs += sum.InputTokens - sum.DroppedInputTokens
		}
		t.Dropped += sum.DroppedTokens + sum.DroppedInputTokens
	}
	return t
}

// hitRate is the share of all prompt tokens that the provider read from its
// cache.
func hitRate(s store.SessionRow) float64 {
	all := s.InputTokens + s.CacheRead + s.CacheWrite
	if all == 0 {
		return 0
	}
	return float64(s.CacheRead) / float64(all)
}

func causeCounts(counts []store.CauseCount) []schema.CauseCount {
	var all []schema.CauseCount
	for _, c := range counts {
		all = append(all, schema.CauseCount{Cause: cmp.Or(c.Cause, "unknown"), Count: c.Count})
	}
	return all
}

// threshold is the pressure from which a pass of the session may bust. It uses
// the configuration that was read last, because a status opens no files of
// projects.
func (h *Host) threshold(st schema.SessionStatus) float64 {
	cfg := h.knownConfig(st)
	percent, _ := config.Threshold(cfg, st.Model.Provider, st.Model.ID, st.ContextTokens)
	return percent / 100
}

// knownConfig returns the configuration of a session that was read last.
func (h *Host) knownConfig(st schema.SessionStatus) schema.Config {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cfg, ok := h.configs[directory{st.Harness, st.Directory}]; ok {
		return cfg
	}
	return defaultConfig
}

// knownLife is cacheLife computed from the store alone. It does not ask the
// harness.
func (h *Host) knownLife(ctx context.Context, st schema.SessionStatus) route.Belief {
	row, _, err := h.Store.Limits(ctx, st.Model.Provider, st.Model.ID)
	if err != nil {
		h.Log.Warn("limits of a model not read", "provider", st.Model.Provider, "model", st.Model.ID, "error", err)
	}
	return h.cacheLife(ctx, string(st.Harness), h.knownConfig(st), st.Model, row.NPM)
}

var defaultConfig = config.Default()

// warnings lists the problems that a person should look at, worst first.
func (h *Host) warnings() []schema.Warning {
	var all []schema.Warning
	if reason := h.trouble.Load(); reason != nil {
		all = append(all, schema.Warning{Source: "store", Message: "nothing can be stored, so sessions pass unchanged: " + *reason})
	}
	if moved := h.Store.Recovered(); moved != "" {
		all = append(all, schema.Warning{Source: "store", Message: "the database was damaged; it was moved to " + moved + " and an empty one took its place"})
	}
	if n := bug.Count(); n > 0 {
		all = append(all, schema.Warning{Source: "bug", Message: fmt.Sprintf("%d broken invariants since the host started; the log has them", n)})
	}
	return append(all, h.configWarnings()...)
}

// configWarnings lists the problems in the configurations of the open
// directories. A problem that several directories share is listed once.
func (h *Host) configWarnings() []schema.Warning {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := map[string]string{} // by message, the first directory that has it
	for _, c := range h.clients {
		for dir, warnings := range c.opened {
			for _, w := range warnings {
				if known, ok := first[w.Message]; !ok || dir < known {
					first[w.Message] = dir
				}
			}
		}
	}
	var all []schema.Warning
	for _, message := range slices.Sorted(maps.Keys(first)) {
		all = append(all, schema.Warning{Source: "config", Directory: first[message], Message: message})
	}
	return all
}
