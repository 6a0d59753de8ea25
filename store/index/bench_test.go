package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

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

func BenchmarkNearest(b *testing.B) {
	x := openIn(b, b.TempDir())
	random := rand.New(rand.NewPCG(1, 1))
	direction := func() []float32 {
		v := make([]float32, 384)
		for i := range v {
			v[i] = float32(random.NormFloat64()) / 20
		}
		return v
	}
	for from := 0; from < maxVectors; from += 1000 {
		var all []Message
		for i := range 1000 {
			all = append(all, said(fmt.Sprint("m", from+i), from+i, "a text"))
		}
		put(b, x, Session{Harness: "pi", ID: fmt.Sprint(from), Project: fmt.Sprint(from % 5000)}, all...)
		must(b, x.Update(b.Context(), func(tx *Tx) error {
			texts, err := (&View{x}).Waiting("s", 1000)
			var vectors [][]float32
			for range texts {
				vectors = append(vectors, direction())
			}
			return errors.Join(err, tx.PutVectors("s", texts, vectors))
		}))
	}
	for b.Loop() {
		must(b, x.View(b.Context(), func(v *View) error { return v.Nearest(direction(), Scope{}, 100, func(Hit) {}) }))
	}
}
