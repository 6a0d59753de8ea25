package indexing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/store/index"
)

// Each operation indexes 20 sessions of 1,000 messages, for example calls with 2 KB of output.
func BenchmarkRun(b *testing.B) {
	home := b.TempDir()
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.1, 5, 30_000)
	words := func(n int) string {
		var all []string
		for range n {
			all = append(all, strings.Map(func(r rune) rune { return r + 49 }, fmt.Sprint(zipf.Uint64())))
		}
		return strings.Join(all, " ")
	}
	oc := rawhistorytest.NewOpenCode(b, home)
	const sessions, messages = 20, 1000
	bytes := 0
	for s := range sessions {
		var all []json.Value
		for i := range messages {
			id := fmt.Sprintf("m%d_%04d", s, i)
			var m json.Value
			switch i % 5 {
			case 0:
				m = said(id, "user", i+1, words(30))
			case 1, 2, 3:
				m = ocMessage(id, "assistant", i+1, call("p"+id, "bash", `{"command":"go test ./`+words(1)+`"}`, words(350), `{"exit":0}`))
			default:
				m = said(id, "assistant", i+1, words(120))
			}
			bytes += len(m)
			all = append(all, m)
		}
		oc.Add(fmt.Sprint("ses_", s), all)
	}
	n := 0
	for b.Loop() {
		db, err := index.Open(b.Context(), filepath.Join(b.TempDir(), "data"))
		must(b, err)
		x := &Indexer{
			Index: db, Identify: func(_ context.Context, dir string) (string, error) { return project.OfDirectory(dir), nil },
			Reader: rawhistory.Reader{Env: func(name string) string { return map[string]string{"HOME": home}[name] }},
		}
		p, err := x.Run(b.Context(), func(Progress) {}, func(what string, err error) { b.Error(what, err) })
		must(b, err)
		n += p.Messages
		must(b, db.Close())
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric(float64(bytes)/(sessions*messages), "bytes/message")
}
