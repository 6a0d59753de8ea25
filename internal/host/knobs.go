package host

import (
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
)

// knobs returns the settings for rules, for a session of the given mode.
func knobs(c schema.Config, m mode.Mode, directory string) rule.Knobs {
	k := rule.Knobs{
		ProtectedTags: c.ProtectedTags, ReasoningAge: c.ClearReasoningAge,
		Deduplicate: c.AutoDrop.Duplicates, ClampSupersededWrites: c.AutoDrop.SupersededWrites, ClampOldErrors: c.AutoDrop.OldErrors,
		ErrorSteps: c.AutoDrop.ErrorSteps, TurnProtection: c.AutoDrop.TurnProtection,
		IsProtectedTool: func(name string) bool { return config.MatchesName(c.AutoDrop.ProtectedTools, name) },
		IsProtectedPath: func(path string) bool { return config.MatchesPath(c.AutoDrop.ProtectedPaths, directory, path) },
	}
	if c.CavemanTextCompression.Enabled && !m.IsSubagent && !m.Reduces {
		k.CompressFrom = c.CavemanTextCompression.MinChars
	}
	return k
}
