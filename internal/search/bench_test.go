package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

const (
	benchMessages = 100_000
	benchCommits  = 20_000
)

// vocabulary returns a function that gives the word of each rank, the most frequent word first. The words of the judged
// set come first, because they have synonyms. Invented words follow.
func vocabulary(b *testing.B) func(rank uint64) string {
	files, err := filepath.Glob("testdata/judged/*.txt")
	must(b, err)
	count := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(b, err)
		for _, word := range strings.Fields(strings.ToLower(string(text))) {
			if len(terms.Of(word)) > 0 {
				count[word]++
			}
		}
	}
	words := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	return func(rank uint64) string {
		if rank < uint64(len(words)) {
			return words[rank]
		}
		return strings.Map(func(r rune) rune { return r + 49 }, fmt.Sprint(rank))
	}
}

// BenchmarkSearch uses an index with 100,000 messages and 20,000 commits of five projects. The words are as frequent as
// in a natural language. Each query has 1 to 12 words of one message. Only the first searches have to read the index
// from the disk.
func BenchmarkSearch(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.15, 3, 40_000)
	word := vocabulary(b)
	dir := b.TempDir()
	x, err := index.Open(b.Context(), dir)
	must(b, err)
	b.Cleanup(func() { must(b, x.Close()) })
	var texts [][]string
	started := time.Now()
	for n := 0; n < benchMessages+benchCommits; {
		s := index.Session{Harness: "opencode", ID: fmt.Sprint("ses_", n), Project: fmt.Sprint("git:", n/500%5)}
		kind, role := index.Text, index.Agent
		if n >= benchMessages {
			kind, role = index.Commit, index.Tool
		}
		must(b, x.Update(b.Context(), func(tx *index.Tx) error {
			state, err := tx.Session(s)
			for i := 1; i <= 500; i++ {
				n++
				words := make([]string, 10+random.IntN(120))
				for k := range words {
					words[k] = word(zipf.Uint64())
				}
				if n%50 == 0 {
					texts = append(texts, words)
				}
				err = errors.Join(err, tx.Put(state.Row, s.Project, index.Message{
					Key: fmt.Sprint(i), Ordinal: i, At: int64(n), Chunks: []index.Chunk{{Kind: kind, Role: role, Text: strings.Join(words, " ")}},
				}))
			}
			return err
		}))
	}
	b.Logf("indexed %d messages in %.1f s", benchMessages+benchCommits, time.Since(started).Seconds())
	run := func(project string, embed func(context.Context, string, string) []float32) func(*testing.B) {
		return func(b *testing.B) {
			var took []time.Duration
			i := 0
			before := cpuTime(b)
			for b.Loop() {
				words := texts[random.IntN(len(texts))]
				n := min(1+i%12, len(words))
				from := random.IntN(len(words) - n + 1)
				i++
				started := time.Now()
				_, err := Search(b.Context(), x, Query{Text: strings.Join(words[from:from+n], " "), Limit: 10, Project: project, Now: benchMessages, Embed: embed})
				must(b, err)
				took = append(took, time.Since(started))
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(len(took)), "cpu-ms")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
		}
	}
	for _, project := range []string{"", "git:1"} {
		b.Run("project="+project, run(project, nil))
	}
	source := embedTexts(b, dir)
	for _, project := range []string{"", "git:1"} {
		b.Run("vectors/project="+project, run(project, source.Query))
	}
}

const benchDimensions = 384

// embedTexts gives vectors to the newest 25,000 texts. They come from a server on this machine, which returns a
// different random vector for each text.
func embedTexts(b *testing.B, dir string) *embedding.Source {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Input []string `json:"input"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &q)
		type datum struct {
			Embedding []float32 `json:"embedding"`
		}
		a := struct {
			Model string  `json:"model"`
			Data  []datum `json:"data"`
		}{Model: "random"}
		for _, text := range q.Input {
			seed := maphash.String(benchSeed, text)
			random := rand.New(rand.NewPCG(seed, seed))
			v := make([]float32, benchDimensions)
			for i := range v {
				v[i] = float32(random.NormFloat64())
			}
			a.Data = append(a.Data, datum{v})
		}
		_ = json.MarshalWrite(w, a)
	}))
	b.Cleanup(server.Close)
	home := b.TempDir()
	file := filepath.Join(home, ".config", "magicctx", "magicctx.jsonc")
	must(b, os.MkdirAll(filepath.Dir(file), 0o700))
	must(b, os.WriteFile(file, fmt.Appendf(nil, `{"embedding": {"provider": "openai-compatible", "model": "random", "endpoint": %q}}`, server.URL), 0o600))
	source := &embedding.Source{
		Env:    func(name string) string { return map[string]string{"HOME": home}[name] },
		Failed: func(err error) { b.Error(err) },
	}
	e := embedding.Embedder{Dir: dir, Source: source}
	started := time.Now()
	must(b, e.Run(b.Context(), func(int) {}))
	b.Logf("%d texts got vectors in %.1f s", e.Status(b.Context()).Texts, time.Since(started).Seconds())
	return source
}

var benchSeed = maphash.MakeSeed()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
