package text

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
)

var levels = map[string]Level{"lite": Lite, "full": Full, "ultra": Ultra}

// The rows of the test data come from another implementation. Where that implementation is wrong, the row names its
// mistake and contains the correct result.
func TestCompressVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/caveman.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Source    string `json:"source"`
		Level     string `json:"level"`
		Text      string `json:"text"`
		Reference string `json:"reference"`
		Ours      string `json:"ours"`   // only set with Defect
		Defect    string `json:"defect"` // the defect of the other implementation
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 20 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		want := r.Reference
		if r.Defect != "" {
			want = r.Ours
		}
		if got := Compress(r.Text, levels[r.Level]); got != want {
			t.Errorf("%s, %s: %q\ngot  %q\nwant %q", r.Source, r.Level, r.Text, got, want)
		} else if r.Defect != "" && got == r.Reference {
			t.Errorf("%s, %s: %q still shows: %s", r.Source, r.Level, r.Text, r.Defect)
		}
	}
}

type compressCase struct {
	level    Level
	in, want string
}

func testCompress(t *testing.T, cases []compressCase) {
	t.Helper()
	for _, c := range cases {
		if got := Compress(c.in, c.level); got != c.want {
			t.Errorf("level %d: %q\ngot  %q\nwant %q", c.level, c.in, got, c.want)
		}
	}
}

// Bug C16 (docs/defects.md): Compress treated a line end as a blank, so a list became one sentence.
func TestCompressKeepsLines(t *testing.T) {
	testCompress(t, []compressCase{
		{Lite, "- one\n- two\n  just three", "- one\n- two\n  three"},
		{Lite, "one\r\njust two\r\nreally three", "one\r\ntwo\r\nthree"},
		{Lite, "say it,\nplease\nand go", "say it,\nand go"},
		{Lite, "Done.\n\nThanks!\n\nNext", "Done.\n\nNext"},
		{Lite, "so, I think\nwe go", "so\nwe go"},
		{Full, "which of the\nfiles", "which of the\nfiles"},
		{Full, "Plan A\n\nthe index", "Plan A\n\nindex"},
		{Full, "it\nwas deleted", "it\nwas deleted"},
		{Full, "it was\ndeleted", "it was\ndeleted"},
		{Ultra, "one\nand two\nor three", "one\nand two\nor three"},
		{Lite, "if x:\n    return  1  \n\tend", "if x:\n    return 1\n\tend"},
		{Lite, "a\n\n\n\nb\n \n\t\nc", "a\n\nb\n\nc"},
	})
}

// Bug C16: "could be deleted" became "deleted", as if it had been deleted.
func TestCompressKeepsModality(t *testing.T) {
	for _, modal := range []string{"would be", "could be", "should be", "might be", "may be", "Could Be"} {
		in := "It " + modal + " deleted"
		testCompress(t, []compressCase{{Full, in, in}, {Ultra, in, in}})
	}
	testCompress(t, []compressCase{
		{Full, "it will be deleted", "it deleted"},
		{Full, "it has been deleted", "it deleted"},
		{Full, "it was not deleted", "it was not deleted"},
		{Full, "the door is open", "door open"},
		{Full, "it is red, is ed", "it red, is ed"},
		{Full, "Was deleted", "Was deleted"},
	})
}

// Bug C16: a word was removed and its punctuation stayed.
func TestCompressRemovesPunctuationWithItsWord(t *testing.T) {
	testCompress(t, []compressCase{
		{Lite, "Obviously, it works", "it works"},
		{Lite, "It works. Actually, no", "It works. no"},
		{Lite, "It is, I think, good", "It is, good"},
		{Lite, "Yes, please!", "Yes!"},
		{Lite, "Do it, please", "Do it"},
		{Lite, "Do it; thanks.", "Do it."},
		{Lite, "Done. Thanks! Next.", "Done. Next."},
		{Lite, "- Basically, this", "- this"},
		{Lite, "(clearly, this)", "(this)"},
		{Lite, "(this, maybe)", "(this)"},
		{Lite, `he said "yes, please"`, `he said "yes"`},
		{Lite, "(just do it)", "(do it)"},
		{Lite, "it really—works", "it —works"},
		{Ultra, "However, it runs", "but it runs"},
		{Ultra, "We stopped. Therefore, it runs", "We stopped. → it runs"},
		{Ultra, "We test it afterwards. Why? Because.", "We test it afterwards. Why? Because."},
		{Lite, "Thanks!", ""},
	})
}

func TestCompressKeepsSense(t *testing.T) {
	for _, in := range []string{
		"not just this", "It isn't really so", "it isn’t very good", "cannot simply go", "this rather than that",
		"Maybe.", "Is it? Probably!", "Answer: maybe", "- perhaps", "| very | x |",
		`"very"`, "(maybe)", "**really**", "“just”",
		"just-in-time", "one very-long word", "very.js", "please/x", "run -a now", "--just x", "<a href", "f::just", "the's",
		"miała być", "à the’", "ethé an", "an", "a", "$a + b",
	} {
		testCompress(t, []compressCase{{Ultra, in, in}})
	}
}

func TestCompressLevels(t *testing.T) {
	testCompress(t, []compressCase{
		{0, "  just  ", "  just  "},
		{Lite, "", ""},
		{Ultra, " \n ", ""},
		{Lite, "It is SORT OF very really slow, I Guess.", "It is slow."},
		{Lite, "At the moment, with regard to x", "now, about x"},
		{Full, "An apple, A pear and the end", "apple, pear and end"},
		{Ultra, "DATABASE, database and Database", "Db, db + Db"},
		{Ultra, "database and database", "database + database"},
		{Ultra, "database.x and database, database or database", "database.x + db, db | db"},
		// A user line ends the count of a term.
		{Ultra, "database, database\nU: database\ndatabase", "database, database\nU: database\ndatabase"},
		{Ultra, "x as well as y, and then z", "x + y, → z"},
	})
}

func TestCompressKeepsRegions(t *testing.T) {
	testCompress(t, []compressCase{
		{Ultra, "the\n```go\n  the  very\n\n\n\nthe\n```\nthe end", "the\n```go\n  the  very\n\n\n\nthe\n```\nend"},
		{Ultra, "the x ```\nthe  very", "x ```\nthe  very"},
		{Ultra, "````\n```\nthe x\n```\nthe y\n````\nthe z", "````\n```\nthe x\n```\nthe y\n````\nz"},
		{Ultra, "the `the  very ` x and ` the\n` the y", "`the  very ` x + ` the\n` y"},
		{Ultra, "the https://x.y/the,just?and=the the end", "https://x.y/the,just?and=the end"},
		{Ultra, "see https://x.y/`the  very` the z", "see https://x.y/`the  very` z"},
		{Ultra, "§12§ the x msg_the the ses_a1 b", "§12§ x msg_the ses_a1 b"},
		{Ultra, "just a/the/just.md", "a/the/just.md"},
		{Ultra, "U:  the  very \n\n\n\nthe x\nU: the", "U:  the  very \n\nx\nU: the"},
		{Ultra, "U: x  ", "U: x  "},
		{Ultra, "u: the x\n U: the y", "u: x\n U: y"},
		{Ultra, "U: a ```\nU: the\n``` the\nthe z", "U: a ```\nU: the\n``` the\nz"},
		{Ultra, "the \xff just x", "\uFFFD x"},
	})
}

func TestProtectedForms(t *testing.T) {
	for _, c := range []struct {
		in      string
		regions []string
	}{
		{"deadbee deadbeef1 abcdef DEADBEE1 1234567", []string{"deadbee", "deadbeef1", "DEADBEE1", "1234567"}},
		{"xdeadbee deadbeeg _deadbee_ " + strings.Repeat("a", 41), []string{"deadbee"}},
		{"a/b.c ./a.go ../x/y.md. /etc/the/file.conf a/b src/.env.local", []string{"a/b.c", "./a.go", "../x/y.md", "etc/the/file.conf", "src/.env.local"}},
		{"msg_1 xmsg_1 toolu_ab_c msgs_1 a_msg_1 msg_ msg_2_ses_3 (ses_4)", []string{"msg_1", "toolu_ab", "msg_2", "ses_4"}},
		{"§1§ §x§ §§", []string{"§1§"}},
		{"http://a\u00a0b https://", []string{"http://a"}},
		{"``x``\n`a\n`b`", []string{"`x`", "`b`"}},
	} {
		g := protect(c.in)
		if got, want := strings.Join(g.regions, "\n"), strings.Join(c.regions, "\n"); got != want {
			t.Errorf("protect(%q)\ngot\n%s\nwant\n%s", c.in, got, want)
		}
		if g.restored() != c.in {
			t.Errorf("restored to %q, not %q", g.restored(), c.in)
		}
	}
}

func FuzzCompress(f *testing.F) {
	f.Add("U: the `x`\n(just) the ```a b", 3)
	f.Add("was deleted, please.\r\n§1§ a/b.c \xff very", 2)
	f.Add("therefore, and then and or ; clearly, . thanks!", 3)
	f.Fuzz(func(t *testing.T, in string, level int) { checkCompress(t, in, level) })
}

// Random bytes are seldom words, so the test builds its texts from these pieces.
func TestCompressProperties(t *testing.T) {
	pieces := []string{
		" ", " ", " ", "  ", "\t", "\n", "\n", "\r\n", "\u2028", "\u00a0", ",", ";", ".", "!", ":", "…", "(", ")", "*", "\"", "-", "|", "'", "’", "§", "\xff",
		"\nU: ", "U: ", "```", "````", "`", "`a  b`", "https://x", "§1§", "msg_", "ses_a", "a/b.c", "../", "deadbeef", "é", "ł", "日本",
		"just", "really", "sort of", "a bit", "rather than", "not", "isn't", "i think", "maybe", "please", "thank you",
		"in order to", "at the moment", "is", "could be", "has been", "being", "deleted", "open", "the", "a", "and then",
		"because", "because of", "however", "as well as", "and", "or", "context", "Context", "messages", "config",
	}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "pieces"), "")
		checkCompress(t, in, rapid.IntRange(0, 3).Draw(t, "level"))
	})
}

type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// The protected regions and user lines must stay in their order.
func checkCompress(t fataler, in string, level int) {
	in = strings.ToValidUTF8(in, "")
	got := Compress(in, Level(level))
	if got != Compress(in, Level(level)) {
		t.Fatal("not a function")
	}
	if !utf8.ValidString(got) || len(got) > len(in) || strings.Count(got, "\n") > strings.Count(in, "\n") {
		t.Fatalf("%q became %q", in, got)
	}
	g := protect(in)
	mustHoldInOrder(t, in, got, g.regions)
	if level < int(Lite) {
		return
	}
	var lines []string
	for line := range strings.SplitSeq(g.text, "\n") {
		n := strings.Count(line, string([]byte{hole}))
		if strings.HasPrefix(line, userLine) {
			lines = append(lines, fill(line, g.regions[:n]))
		}
		g.regions = g.regions[n:]
	}
	mustHoldInOrder(t, in, got, lines)
}

func mustHoldInOrder(t fataler, in, got string, parts []string) {
	rest := got
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("%q is not in %q, made of %q", part, got, in)
		}
		rest = after
	}
}

func BenchmarkCompress(b *testing.B) {
	paragraph := "I think the database in `store/db.go` was opened because of a very long query, please see https://x.y/z and msg_1.\n"
	for name, n := range map[string]int{"10k": 85, "1M": 8500} {
		text := strings.Repeat(paragraph, n)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Compress(text, Ultra)
			}
		})
	}
}
