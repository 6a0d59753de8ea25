package view

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

const farewellSessions = 5

// After an uninstall, the next prompt of some sessions will not fit into the window. Farewell names these sessions of a
// harness, and says how to continue with them. If `project` is not empty, only sessions in that directory count.
func Farewell(sessions []schema.SessionStatus, harness schema.Harness, harnessName, project string) (notes []string) {
	more := 0
	for _, s := range sessions {
		size := s.RawTokens
		if s.Harness != harness || s.ContextTokens == 0 || size <= s.ContextTokens || project != "" && s.Directory != project {
			continue
		}
		if len(notes) == farewellSessions {
			more++
			continue
		}
		name := s.Session
		if s.Title != "" {
			name = fmt.Sprintf("%q (%s)", s.Title, s.Session)
		}
		notes = append(notes, fmt.Sprintf("Without magicctx, the next prompt of %s has about %s tokens, in a window of %s.", name, format.Tokens(size), format.Tokens(s.ContextTokens)))
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("So it is for %s more.", format.Count(more, "session")))
	}
	if len(notes) > 0 {
		notes = append(notes, fmt.Sprintf("To go on with such a session, keep magicctx, or choose a model with a larger window. Or begin a new session in %s. "+
			"/compact helps only if the conversation itself still fits into the window, because it sends most of it in one request; magicctx does not change that request.", harnessName))
	}
	return notes
}
