package transcript

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

var codecs = map[string]Codec{
	string(schema.HarnessOpenCode):  OpenCode{},
	string(schema.HarnessOpenCode2): OpenCode2{},
	string(schema.HarnessPi):        Pi{},
	string(ClaudeCode):              logCodec{vocabulary: &claudeCodeVocabulary},
	string(Codex):                   logCodec{vocabulary: &codexVocabulary},
}

func CodecOf(harness string) (Codec, bool) {
	c, ok := codecs[harness]
	return c, ok
}

// CheckSize returns an error if an array has too many messages, or one of them too many parts. It decodes no message.
// `messages` are added to an array that already has `earlier` messages.
func CheckSize(earlier int, messages []json.Value) error {
	if n := earlier + len(messages); n > schema.MaxMessages {
		return fmt.Errorf("the array has %d messages, and at most %d are possible: begin a new session", n, schema.MaxMessages)
	}
	for i, raw := range messages {
		if n := longestList(raw, true); n > schema.MaxParts {
			return fmt.Errorf("message %d of the array has %d parts, and at most %d are possible: take that message back in the harness, or begin a new session", earlier+i+1, n, schema.MaxParts)
		}
	}
	return nil
}

// longestList returns the length of the longest list in a message, which may be its parts, its content or its results.
// To save time, it returns 0 if the message is too short to have a list of more than schema.MaxParts elements. If
// isStep is true, raw may be a step, so longestList also looks into its member "message".
func longestList(raw json.Value, isStep bool) (most int) {
	if len(raw) < 2*schema.MaxParts { // a list needs two bytes for each element
		return 0
	}
	names, members, _ := json.Members(raw) // a value that has no members has no list
	for i, name := range names {
		switch {
		case name == "parts" || name == "content" || name == "results":
			if members[i].Kind() == '[' && len(members[i]) >= 2*schema.MaxParts {
				_, parts, _ := json.Members(members[i])
				most = max(most, len(parts))
			}
		case name == "message" && isStep:
			most = max(most, longestList(members[i], false))
		}
	}
	return most
}
