package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// BenchmarkSteady measures Transform alone, as the host's part of a steady pass,
// with a store on disk. The messages are those of `npm run bench`: one more step with
// 3.5 KB of tool output for each pass. The median is reported beside the mean, because
// other processes of the machine disturb single passes.
func BenchmarkSteady(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := newHarness(b)
			h.limits.ContextTokens = 200_000_000
			for i := range n {
				h.messages = append(h.messages, benchMessage(i, h.clock.Now()))
			}
			h.pass()
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				i := len(h.messages)
				h.messages = append(h.messages, benchMessage(i, h.clock.Now()))
				attachment := slices.Concat([]byte("["), h.messages[i], []byte("]"))
				p := schema.TransformParams{Session: testSession, Directory: "/p", Base: h.revision, Keep: i, Messages: attachment}
				b.StartTimer()
				started := time.Now()
				m, err := h.host.Transform(b.Context(), h, p)
				took = append(took, time.Since(started))
				if err != nil || m.Verdict != schema.Steady {
					b.Fatal(m.Verdict, err)
				}
				h.revision = m.Revision
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		})
	}
}

// benchMessage returns message i of a session: a question every ten messages, and
// steps of the model with 3.5 KB of tool output, different in each message, between
// them.
func benchMessage(i int, now int64) json.Value {
	if i%10 == 0 {
		text := strings.Repeat(fmt.Sprintf("Question %d ", i), 20)
		return json.Value(fmt.Sprintf(`{"info":{"id":"msg_%d","sessionID":"ses_1","role":"user","time":{"created":%d},"agent":"build","model":{"providerID":"p","modelID":"m"}},`+
			`"parts":[{"id":"prt_%d","type":"text","text":%q}]}`, i, now, i, text))
	}
	var output strings.Builder
	for line := 0; output.Len() < 3500; line++ {
		fmt.Fprintf(&output, "  const value%d = compute(%d, %d, \"item %d\")\n", (i*31+line*7)%997, i, line, (i*13+line)%89)
	}
	return json.Value(fmt.Sprintf(`{"info":{"id":"msg_%d","sessionID":"ses_1","role":"assistant","parentID":"msg_%d","time":{"created":%d,"completed":%d},"agent":"build",`+
		`"providerID":"p","modelID":"m","finish":"tool-calls","tokens":{"input":10,"output":90,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[`+
		`{"id":"prt_%d_0","type":"step-start"},{"id":"prt_%d_1","type":"reasoning","text":"I think that it works","metadata":{"anthropic":{"signature":%q}}},`+
		`{"id":"prt_%d_2","type":"tool","callID":"call_%d","tool":"read","state":{"status":"completed","input":{"filePath":"/project/src/%d.ts","offset":1},"output":%q}},`+
		`{"id":"prt_%d_3","type":"step-finish"}]}`, i, i-i%10, now, now, i, i, strings.Repeat("s", 200), i, i, i, output.String(), i))
}
