package terms

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func split(text string) string {
	var all []string
	Each(text, func(term []byte, place int) { all = append(all, string(term)+"@"+strconv.Itoa(place)) })
	return strings.Join(all, " ")
}

func TestTextsAreSplitIntoTerms(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""},
		{"The busy timeout!", "the@0 busi@1 timeout@2"},
		{"getUserName", "getusernam@0 get@0 user@0 nam@0"},
		{"I’m", "i@0 m@1"},
		{"iPads, URLs; IDs", "ipad@0 url@1 ids@2"},
		{"HTTPParser2 sha256 256MB", "httpparser2@0 http@0 parser2@0 sha256@1 256mb@2 256@2 mb@2"},
		{"busy_timeout_MS", "busytimeoutm@0 busi@0 timeout@0 ms@0"},
		{"internal/storage-db.ts:12", "intern@0 storag@1 db@2 ts@3 12@4"},
		{"Ça va, Größe", "ca@0 va@1 gross@2"},
		{"日本語 text", "日@0 本@1 語@2 text@3"},
		{"x\x1b[31mred\x00\xff", "x@0 31mred@1 31@1 mred@1"},
		{"___ - .", ""},
		{"loadEntries", "loadentri@0 load@0 entri@0"},
		{strings.Repeat("a", 65) + " b", "b@1"},
	} {
		if got := split(c[0]); got != c[1] {
			t.Errorf("%q: %s, want %s", c[0], got, c[1])
		}
	}
}

func TestFormsOfAWordHaveOneStem(t *testing.T) {
	for _, forms := range []string{
		"timeout timeouts", "cache caches cached caching", "retry retries retried retrying", "run runs running", "match matches matched",
		"class classes", "fix fixes fixed fixing", "file files", "error errors", "index indexes indexed indexing", "test tests tested testing",
		"migrate migration migrations migrating", "validate validates validated validation validator", "configure configures configuration configurable",
		"notify notifies notification", "deploy deployed deployment", "visible visibility", "depend depends dependency dependent",
		"agree agreed agrees agreement", "free freed freeing", "exceed exceeds exceeded exceeding", "need needs needed",
		"cancel cancelled canceled cancelling cancellation", "control controls controlled controller", "install installed installer instalment",
		"format formats formatted formatter", "commit commits committed committer", "occur occurs occurred occurrence",
		"normalise normalize normalised normalized normalizing normalizer normalization", "analysis analyses analyse analysed",
	} {
		words := strings.Fields(forms)
		for _, w := range words[1:] {
			if got, want := string(Stem([]byte(w))), string(Stem([]byte(words[0]))); got != want {
				t.Errorf("%s: %s, but %s: %s", w, got, words[0], want)
			}
		}
	}
	for _, w := range []string{"status", "this", "string", "bus", "is", "md5s"} {
		if got := string(Stem([]byte(w))); got != w {
			t.Errorf("%s became %s", w, got)
		}
	}
}

func TestQueryHasEachTermOnce(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"why did getMessageOrdinal fail, fail", []string{"why", "did", "get", "messag", "ordin", "fail"}},
		{`say "hi" NEAR(x) a*b:c`, []string{"say", "hi", "near", "x", "a", "b", "c"}},
		{"   ", nil},
		{"!?", nil},
	} {
		if got := Of(c.query); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.query, got)
		}
	}
}

// The store passes terms to a query language, so a term has only letters and digits.
func FuzzTermsAreWords(f *testing.F) {
	f.Add("I’m")
	f.Add("a\"b' OR #p1 NEAR(x)\x00\xff日é")
	f.Fuzz(func(t *testing.T, text string) {
		Each(text, func(term []byte, _ int) {
			if len(term) == 0 || len(term) > maxTerm+2 {
				t.Fatalf("%q: %q", text, term)
			}
			for _, c := range term {
				if c < utf8.RuneSelf && kinds[c] != lower && kinds[c] != digit {
					t.Fatalf("%q: %q", text, term)
				}
			}
		})
	})
}

func BenchmarkEach(b *testing.B) {
	text := strings.Repeat("The test fails because internal/store/file.go opens the database twice; see getUserName and run go test ./store.\n", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Each(text, func([]byte, int) {})
	}
}

func TestTextsAreSplitIntoSentences(t *testing.T) {
	var got []string
	for sentence, line := range Sentences("# Two rules\n\n- Use e.g. Go 1.26. Never run v1.2 in CI! etc. is no end.\n```\nno sentence. Nothing\n```\nok\nWhy not? Éclairs.") {
		got = append(got, strconv.Itoa(line)+" "+sentence)
	}
	want := []string{"1 Two rules", "3 Use e.g. Go 1.26.", "3 Never run v1.2 in CI! etc. is no end.", "8 Why not?", "8 Éclairs."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
