package daemon

import (
	"bytes"
	"context"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

var opencode = schema.InitializeParams{
	Protocol:  schema.Version{Major: schema.ProtocolMajor, Minor: schema.ProtocolMinor},
	Client:    "opencode-shim",
	Harness:   schema.HarnessOpenCode,
	Directory: "/work",
}

// BenchmarkBridged measures a call that goes through a bridge to a host in another process, like the calls of a shim.
func BenchmarkBridged(b *testing.B) {
	for name, messages := range map[string][]byte{
		"small": []byte(`["hello"]`),
		"29MB":  append(bytes.Repeat([]byte("1,"), 29<<19), '1'),
	} {
		b.Run(name, func(b *testing.B) {
			p := newPlace(b)
			shim := p.bridge()
			ctx := context.Background()
			mustCall(b, shim.Client, schema.MethodInitialize, opencode, nil)
			b.SetBytes(int64(len(messages)))
			for b.Loop() {
				err := shim.CallWithAttachment(ctx, schema.MethodTransform, schema.TransformParams{Session: "s"}, messages, nil)
				if err != nil {
					b.Fatal(err)
				}
			}
			stopHost(b, shim)
			if err := shim.end(); err != nil {
				b.Error(err)
			}
		})
	}
}
