package search

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

const (
	benchMessages = 100_000
	benchCommits  = 20_000
)

// vocabulary returns words, the most frequent first: those of the judged set, which have synonyms, and then made ones.
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

// BenchmarkSearch searches 100,000 messages and 20,000 commits of five projects. The frequencies of the words are those
// of a natural language, and each query has 1 to 12 words of one message. The first searches read the index from the disk.
func BenchmarkSearch(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.15, 3, 40_000)
	word := vocabulary(b)
	x, err := index.Open(b.Context(), b.TempDir())
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
	for _, project := range []string{"", "git:1"} {
		b.Run("project="+project, func(b *testing.B) {
			var took []time.Duration
			i := 0
			for b.Loop() {
				words := texts[random.IntN(len(texts))]
				n := min(1+i%12, len(words))
				from := random.IntN(len(words) - n + 1)
				i++
				started := time.Now()
				_, err := Search(b.Context(), x, Query{Text: strings.Join(words[from:from+n], " "), Limit: 10, Project: project, Now: benchMessages})
				must(b, err)
				took = append(took, time.Since(started))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
