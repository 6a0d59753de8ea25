package pass

import (
	"context"
	"sync"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// knobs returns the settings for the rules.
func knobs(ctx context.Context, c schema.Config, m mode.Mode, directory string) rule.Knobs {
	tools, paths := matcher(c.AutoDrop.ProtectedTools), matcher(c.AutoDrop.ProtectedPaths)
	k := rule.Knobs{
		ProtectedTags: c.ProtectedTags, ReasoningAge: c.ClearReasoningAge,
		Deduplicate: c.AutoDrop.Duplicates, ClampSupersededWrites: c.AutoDrop.SupersededWrites, ClampOldErrors: c.AutoDrop.OldErrors,
		ErrorSteps: c.AutoDrop.ErrorSteps, TurnProtection: c.AutoDrop.TurnProtection,
		IsProtectedTool: remembered(ctx, func(name string) bool { return tools().MatchName(name) }),
		IsProtectedPath: remembered(ctx, func(path string) bool { return paths().MatchPath(directory, path) }),
	}
	if c.CavemanTextCompression.Enabled && !m.IsSubagent && !m.Reduces {
		k.CompressFrom = c.CavemanTextCompression.MinChars
	}
	return k
}

// A steady pass runs no rule, so matcher compiles the patterns only at the first use.
func matcher(patterns []string) func() config.Patterns {
	return sync.OnceValue(func() config.Patterns { return config.CompilePatterns(patterns) })
}

// Several rules ask isProtected about the same tool or path, so the function `remembered` caches the answers. After ctx
// has ended, nobody waits for the pass any longer, and slow patterns of a project must not prolong it. So from then on,
// the returned function answers false without matching. This does no harm, because the pass fails.
func remembered(ctx context.Context, isProtected func(string) bool) func(string) bool {
	known := make(map[string]bool)
	return func(name string) bool {
		answer, ok := known[name]
		if !ok && ctx.Err() == nil {
			answer = isProtected(name)
			known[name] = answer
		}
		return answer
	}
}
