package tokens

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

var vectors = []struct {
	text string
	want int
}{
	{"", 0},
	{"hello world", 2},
	{"The quick brown fox jumps over the lazy dog.", 10},
	{"<EOT>", 4}, // a special token, counted as text
	{`{"a":1}`, 5},
	{"日本語テスト", 6},
	{"ﬁ", 3}, // this is one rune; NFKC would turn it into the token "fi"
}

func TestCount(t *testing.T) {
	for _, v := range vectors {
		for range 2 { // the second count comes from the cache
			if got := Count(v.text); got != v.want {
				t.Errorf("Count(%q) = %d, want %d", v.text, got, v.want)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"I'll say 'so'":     "I|'ll| say| '|so|'",
		"it's IT'S":         "it|'s| IT|'|S",
		"a  b\t\tc\n\nd \n": "a| | b|\t|\t|c|\n|\n|d| \n",
		" 12ab ++ é²":       " 12|ab| ++| é|²",
		"x\u0085\u00a0y":    "x|\u0085|\u00a0|y",
		"a\ufeffb":          "a|\ufeff|b",
		"a\xff\xfeb":        "a|\xff\xfe|b",
	} {
		if got := strings.Join(split(text), "|"); got != want {
			t.Errorf("split(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCountIsSafeForConcurrentUse(t *testing.T) {
	text := sample(20_000)
	want := slowCount(text)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := Count(text); got != want {
				t.Errorf("Count = %d, want %d", got, want)
			}
		})
	}
	wg.Wait()
}

func TestHugePieceIsCutUp(t *testing.T) {
	const pieces = 5
	word := strings.Repeat("abcdefgh", pieces*maxPiece/8)
	want := pieces * slowCount(word[:4096]) * maxPiece / 4096
	if got := Count(word); math.Abs(float64(got-want)) > 0.01*float64(want) {
		t.Errorf("Count = %d, want about %d", got, want)
	}
}

func FuzzCount(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.text)
	}
	f.Add("a  'll\xff\xed\xa0\x80 \t\nb''s")
	f.Add(strings.Repeat("ab", 40) + strings.Repeat(" ", 30) + "==========")
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := Count(text), slowCount(text); got != want {
			t.Errorf("Count(%q) = %d, want %d", text, got, want)
		}
	})
}

// slowCount counts tokens in a way that is easy to verify by reading: it splits by a regular expression, and always
// merges the pair with the lowest rank first.
func slowCount(text string) int {
	n := 0
	for text != "" {
		piece := slowPiece(text)
		n += slowMerge(piece)
		text = text[len(piece):]
	}
	return n
}

var (
	word   = regexp.MustCompile(`^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\v\x{85}\p{Z}\p{L}\p{N}]+)`)
	blanks = regexp.MustCompile(`^[\s\v\x{85}\p{Z}]+`)
)

func slowPiece(text string) string {
	if piece := word.FindString(text); piece != "" {
		return piece
	}
	piece := blanks.FindString(text)
	_, last := utf8.DecodeLastRuneInString(piece)
	if len(piece) < len(text) && last < len(piece) {
		piece = piece[:len(piece)-last]
	}
	return piece
}

func slowMerge(piece string) int {
	v := load()
	if v.rank(piece) != noRank {
		return 1
	}
	var parts []string
	for i := range len(piece) {
		parts = append(parts, piece[i:i+1])
	}
	for {
		best, at := uint32(noRank), -1
		for i := range len(parts) - 1 {
			if r := v.rank(parts[i] + parts[i+1]); r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return len(parts)
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}

func split(text string) []string {
	var pieces []string
	for text != "" {
		end := pieceEnd(text)
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}

// The function `sample` returns at least n bytes of mixed text: prose, code, other scripts and noise.
func sample(n int) string {
	fragments := []string{
		"The quick brown fox ", "jumps over the lazy dog. ", "func (s *Server) handle(ctx context.Context) error {\n\t",
		`{"id":42,"name":"x"}`, "don't we'll I'M ", "        ", "\r\n\r\n", "日本語のテキスト、", "тест ", "한국어 ", "مرحبا ", "ไทย",
		"👩‍👩‍👧 ", "0x7f3a9c ", "https://example.org/a?b=c#d ", "ﬁ①²½ ", "=====", "e\u0301 ", "\u00a0\u3000", "<EOT><META>",
	}
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(fragments[random.IntN(len(fragments))])
		if random.IntN(4) == 0 {
			for range random.IntN(12) {
				b.WriteByte(byte('!' + random.IntN(90)))
			}
		}
	}
	return b.String()
}
