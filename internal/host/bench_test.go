package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/indexing"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

// BenchmarkResync measures a pass for which the shim sends the whole array. The database already has the session.
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

// BenchmarkSteady measures the host's part of a steady pass, with a store on disk. As in `npm run bench`, each pass
// gets one more step with 3.5 KB of tool output. Other processes disturb single passes, so it also reports the
// median.
func BenchmarkSteady(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := newHarness(b)
			h.limits.ContextTokens = 10_000_000
			for i := range n {
				h.messages = append(h.messages, benchMessage(i, h.clock.Now()))
			}
			h.pass()
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				took = append(took, h.steadyPass(b))
			}
			b.ReportMetric(medianMicros(took), "p50-µs")
		})
	}
}

// BenchmarkSteadyWithHead alternates between two sessions: one has no head, the other has a head of 150 compartments.
// It also reports the ratio of their medians, because the load of the machine hardly changes this ratio.
func BenchmarkSteadyWithHead(b *testing.B) {
	const compartments = 150
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("%d messages, %d compartments", n, compartments), func(b *testing.B) {
			sessions := [2]*harness{long(b, n, 0), long(b, n, compartments)}
			var took [2][]time.Duration
			for b.Loop() {
				for i, h := range sessions {
					took[i] = append(took[i], h.steadyPass(b))
				}
			}
			without, with := medianMicros(took[0]), medianMicros(took[1])
			b.ReportMetric(0, "ns/op") // the total time of both sessions says nothing
			b.ReportMetric(without, "without-p50-µs")
			b.ReportMetric(with, "with-p50-µs")
			b.ReportMetric(with/without, "ratio")
		})
	}
}

// BenchmarkSteadyWithSubscribers alternates between two sessions, one of them with 200 subscribers. The host sends a
// status in the background, so there is a pause after each pass.
func BenchmarkSteadyWithSubscribers(b *testing.B) {
	sessions := [2]*harness{long(b, 1000, 0), long(b, 1000, 0)}
	followed(b, sessions[1])
	var took [2][]time.Duration
	for b.Loop() {
		for i, h := range sessions {
			took[i] = append(took[i], h.steadyPass(b))
			time.Sleep(5 * time.Millisecond)
		}
	}
	without, with := medianMicros(took[0]), medianMicros(took[1])
	b.ReportMetric(0, "ns/op") // the total time of both sessions says nothing
	b.ReportMetric(without, "without-p50-µs")
	b.ReportMetric(with/without, "ratio")
}

// BenchmarkSteadyWithFailingHistorian alternates between two sessions, one without a historian, one with a failing
// historian. A failing historian covers no message, so the host checks after each pass whether a run should begin.
// Each pass begins directly after the previous answer, as if the model answered at once.
func BenchmarkSteadyWithFailingHistorian(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			off, failing := long(b, n, 0), long(b, n, 0)
			failing.runAgent = func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
				return schema.AgentRunResult{Failure: schema.AgentFailure{Reason: "error", Error: json.Quote("no such model")}}, nil
			}
			failing.host.history.Summarises = true
			var took [2][]time.Duration
			for b.Loop() {
				for i, h := range []*harness{off, failing} {
					took[i] = append(took[i], h.steadyPass(b))
				}
			}
			b.ReportMetric(0, "ns/op") // the total time of both sessions says nothing
			for i, name := range []string{"off", "failing"} {
				median := medianMicros(took[i])
				b.ReportMetric(median, name+"-p50-µs")
				b.ReportMetric(float64(took[i][len(took[i])*95/100].Nanoseconds())/1000, name+"-p95-µs")
			}
		})
	}
}

func (h *harness) steadyPass(b *testing.B) time.Duration {
	b.Helper()
	b.StopTimer()
	i := len(h.messages)
	h.messages = append(h.messages, benchMessage(i, h.clock.Now()))
	attachment := slices.Concat([]byte("["), h.messages[i], []byte("]"))
	p := schema.TransformParams{Session: testSession, Directory: "/p", Base: h.revision, Keep: i, Messages: attachment, Sent: h.lastWire}
	b.StartTimer()
	started := time.Now()
	m, err := h.host.Transform(b.Context(), h, p)
	took := time.Since(started)
	if err != nil || m.Verdict != schema.Steady {
		b.Fatal(m.Verdict, err)
	}
	h.revision, h.lastWire = m.Revision, m.Wire
	return took
}

func medianMicros(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2].Nanoseconds()) / 1000
}

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

// BenchmarkSteadyWhileIndexing measures passes for four seconds alone, and then for four seconds while the host
// indexes 100,000 messages in the background.
func BenchmarkSteadyWhileIndexing(b *testing.B) {
	const sessions, messages = 20, 5_000
	home, random := b.TempDir(), rand.New(rand.NewPCG(1, 1))
	oc := rawhistorytest.NewOpenCode(b, home)
	for s := range sessions {
		all := make([]json.Value, messages)
		for i := range all {
			words := make([]string, 60)
			for k := range words {
				words[k] = strings.Map(func(r rune) rune { return r + 49 }, fmt.Sprint(random.IntN(30_000)))
			}
			all[i] = json.Value(fmt.Sprintf(`{"info":{"id":"m%d_%d","role":"assistant","finish":"stop","time":{"created":%d}},"parts":[{"id":"p%d_%d","type":"text","text":%q}]}`,
				s, i, i+1, s, i, strings.Join(words, " ")))
		}
		oc.Add(fmt.Sprint("ses_", s), all)
	}
	x, err := index.Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	indexer := indexing.Indexer{
		Index: x, Share: indexing.KeepShare, Identify: func(_ context.Context, dir string) (string, error) { return project.OfDirectory(dir), nil },
		Reader: rawhistory.Reader{Env: func(name string) string { return map[string]string{"HOME": home}[name] }},
	}
	h := long(b, 1000, 0)
	var took [2][]time.Duration
	read := 0
	for b.Loop() {
		measure := func(all []time.Duration) []time.Duration {
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				all = append(all, h.steadyPass(b))
			}
			return all
		}
		took[0] = measure(took[0])
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			p, _ := indexer.Run(ctx, func(indexing.Progress) {}, func(string, error) {})
			read += p.Messages
		}()
		took[1] = measure(took[1])
		cancel()
		<-done
	}
	mean := func(all []time.Duration) (sum float64) {
		for _, d := range all {
			sum += float64(d.Microseconds()) / float64(len(all))
		}
		return sum
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(medianMicros(took[0]), "alone-p50-µs")
	b.ReportMetric(medianMicros(took[1])/medianMicros(took[0]), "p50-ratio")
	b.ReportMetric(mean(took[1])/mean(took[0]), "mean-ratio")
	b.ReportMetric(float64(read), "messages")
}
