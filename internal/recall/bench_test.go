package recall

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/store/index"
)

// BenchmarkFind searches an index of 100,000 messages. The cues are a file, a command, an error and a prompt.
func BenchmarkFind(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.15, 3, 40_000)
	x, err := index.Open(b.Context(), b.TempDir())
	must(b, err)
	b.Cleanup(func() { must(b, x.Close()) })
	var texts []string
	for n := 0; n < 100_000; {
		s := index.Session{Harness: "opencode", ID: fmt.Sprint("ses_", n), Project: fmt.Sprint("git:", n/500%5)}
		must(b, x.Update(b.Context(), func(tx *index.Tx) error {
			state, err := tx.Session(s)
			for i := 1; i <= 500; i++ {
				n++
				words := make([]string, 10+random.IntN(120))
				for k := range words {
					words[k] = strings.Map(func(r rune) rune { return r + 49 }, fmt.Sprint(zipf.Uint64()))
				}
				c := index.Chunk{Kind: index.Text, Role: index.Agent, Text: strings.Join(words, " ")}
				if n%7 == 0 {
					c.Kind, c.Context = index.Error, "go test ./"+words[1]
				}
				if n%50 == 0 {
					texts = append(texts, strings.Join(words[:8], " "))
				}
				err = errors.Join(err, tx.Put(state.Row, s.Project, index.Message{Key: fmt.Sprint(i), Ordinal: i, At: int64(n), Chunks: []index.Chunk{c}}))
			}
			return err
		}))
	}
	var took []time.Duration
	for b.Loop() {
		t := texts[random.IntN(len(texts))]
		word, _, _ := strings.Cut(t, " ")
		cues := []cue{{names: []name{{"internal/" + word + "/" + word + ".go", aPath}, {"go test", aCommand}}, failed: failure{"go test", []signature{signatureOf(t)}}, lines: []string{t}}}
		started := time.Now()
		_, err := find(b.Context(), x, scope{project: "git:1", harness: "opencode", session: "ses_0"}, cues, 0.6)
		must(b, err)
		took = append(took, time.Since(started))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}
