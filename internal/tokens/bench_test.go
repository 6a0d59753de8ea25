package tokens

import (
	"compress/flate"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkCount reports MB/s. The case "cold" starts with an empty cache each time.
func BenchmarkCount(b *testing.B) {
	for name, text := range map[string]string{
		"code":  goSource(b, 1<<20),
		"mixed": sample(1 << 20),
		"han":   repeat("快速的棕色狐狸跳过懒狗，然后继续奔跑。", 1<<20),
		"word":  repeat("abcdefghij", 1<<20),
	} {
		b.Run("warm/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Count(text)
			}
		})
		b.Run("cold/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				clear(load().cache.slots[:])
				Count(text)
			}
		})
	}
}

// The first count of a process unpacks the vocabulary.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := unpack(flate.NewReader(strings.NewReader(packed))); err != nil {
			b.Fatal(err)
		}
	}
}

// goSource returns n bytes of the standard library's source, which is real text with many distinct words.
func goSource(b *testing.B, n int) string {
	files, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", "net", "*", "*.go"))
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		text.Write(data)
	}
	if text.Len() < n {
		b.Skip("the source of Go is not installed")
	}
	return text.String()[:n]
}

func repeat(s string, n int) string { return strings.Repeat(s, n/len(s)+1) }
