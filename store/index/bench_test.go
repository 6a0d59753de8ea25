package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Each operation stores 1,000 messages of some 70 words.
func BenchmarkPut(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	words := rand.NewZipf(random, 1.1, 5, 30_000)
	x := openIn(b, b.TempDir())
	n := 0
	for b.Loop() {
		var all []Message
		for range 1000 {
			n++
			var text strings.Builder
			for range 10 + random.IntN(120) {
				fmt.Fprintf(&text, "%s ", strings.Map(func(r rune) rune { return r + 49 }, fmt.Sprint(words.Uint64())))
			}
			all = append(all, said(fmt.Sprint("m", n), n, text.String()))
		}
		put(b, x, mine, all...)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
	size, _ := x.SizeOnDisk()
	b.ReportMetric(float64(size)/float64(n), "bytes/message")
}
