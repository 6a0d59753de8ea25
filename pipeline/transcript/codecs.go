package transcript

import "github.com/magicctx/magicctx-host/schema"

// codecs are the codecs by the name of their harness or source.
var codecs = map[string]Codec{
	string(schema.HarnessOpenCode):  OpenCode{},
	string(schema.HarnessOpenCode2): OpenCode2{},
	string(schema.HarnessPi):        Pi{},
	string(ClaudeCode):              logCodec{vocabulary: &claudeCodeVocabulary},
	string(Codex):                   logCodec{vocabulary: &codexVocabulary},
}

// CodecOf returns the codec of a harness or source, or false if there is none.
func CodecOf(harness string) (Codec, bool) {
	c, ok := codecs[harness]
	return c, ok
}
