package transcript

import "github.com/magicctx/magicctx-host/schema"

// codecs are the codecs by the name of their harness.
var codecs = map[string]Codec{
	string(schema.HarnessOpenCode):  OpenCode{},
	string(schema.HarnessOpenCode2): OpenCode2{},
	string(schema.HarnessPi):        Pi{},
}

// CodecOf returns the codec of a harness, or false if there is none.
func CodecOf(harness string) (Codec, bool) {
	c, ok := codecs[harness]
	return c, ok
}
