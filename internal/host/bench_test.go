package host

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// BenchmarkResync transforms a whole array, on a database that knows the
// session.
func BenchmarkResync(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := newHarness(b)
			h.user("u0", "go")
			for i := range n {
				h.tool(fmt.Sprintf("a%d", i), strings.Repeat(fmt.Sprintf("line %d of the output, as code may look\n", i), 90), "tool-calls", 1000)
			}
			h.pass()
			array, err := json.Marshal(h.messages)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(array)))
			for b.Loop() {
				p := schema.TransformParams{Session: testSession, Directory: "/p", Messages: array}
				if _, err := h.host.Transform(context.Background(), h, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSteady adds one more step to a session of n messages.
func BenchmarkSteady(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := newHarness(b)
			h.user("u0", "go")
			for i := range n {
				h.tool(fmt.Sprintf("a%d", i), strings.Repeat("line of the output\n", 180), "tool-calls", 1000)
			}
			h.pass()
			for b.Loop() {
				h.tool(fmt.Sprintf("b%d", len(h.messages)), strings.Repeat("line of the output\n", 180), "tool-calls", 1000)
				h.pass()
			}
		})
	}
}
