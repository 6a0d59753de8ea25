package historian

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"pgregory.net/rapid"
)

func TestParseVector(t *testing.T) {
	got := Parse(`<compartment importance="9" title="x &amp; y" end="9" start="6"><p1>only &lt;p1&gt;</p1></compartment>`)
	want := []chronicle.Compartment{{Start: 6, End: 9, Title: "x & y", Tiers: [4]string{"only <p1>", "only <p1>", "only <p1>", ""}, Importance: 9}}
	if d := cmp.Diff(want, got.Compartments); d != "" {
		t.Error(d)
	}
}

func TestParseReadsAWholeAnswer(t *testing.T) {
	got := Parse("Here it is:\n```xml\n" + `<output>
<compartments>
<compartment start="6" end="9" title="second" episode_type="Bug, dance,bug,docs" importance="70">
<p1>
Full & whole
</p1><p2>Shorter</p2><p3>Short</p3><p4/>
</compartment>
<compartment start="1" end="5" title="first" importance="x"><p1>One</p1><p2>Two</p2><p3>Three</p3><p4>Four</p4></compartment>
</compartments>
<facts>
<PROJECT_RULES>
* [3-5] Use   bun
* no source
- not a bullet
</PROJECT_RULES>
<ARCHITECTURE/>
<NAMING>* files are kebab-case [7].</NAMING>
</facts>
<events><causal_incident at_compartment="2"><summary>The API &lt;v2&gt; refuses ranges</summary><evidence> </evidence><symptom>416</symptom></causal_incident>
<lost><summary>nowhere</summary></lost></events>
<user_observations>
* Reads every diff.
</user_observations>
<meta><messages_processed>1-9</messages_processed><unprocessed_from>10</unprocessed_from></meta>
</output>` + "\n```\nDone.")
	want := Draft{
		Compartments: []chronicle.Compartment{
			{Start: 1, End: 5, Title: "first", Tiers: [4]string{"One", "Two", "Three", "Four"}, Importance: 50},
			{Start: 6, End: 9, Title: "second", Tiers: [4]string{"Full & whole", "Shorter", "Short", ""}, Importance: 70, Episode: "bug,docs"},
		},
		Facts:           []chronicle.Fact{{Category: "PROJECT_RULES", Content: "Use bun", Source: chronicle.Range{Start: 3, End: 5}}, {Category: "NAMING", Content: "files are kebab-case", Source: chronicle.Range{Start: 7, End: 7}}},
		Unsourced:       1,
		UnprocessedFrom: 10,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseIsLenient(t *testing.T) {
	const head = `<compartment start="1" end="2" title="t">`
	for _, test := range []struct {
		name, answer string
		want         []string // the expected first tiers
	}{
		{"a closing tag of another tier", head + `<p1>one</p2><p2>two</p1></compartment>`, []string{"one"}},
		{"no closing tag of a tier", head + `<p1>one<p2>two</p2></compartment>`, []string{"one"}},
		{"a > in an attribute", `<compartment title="a > b" start="1" end="2"><p1>one</p1></compartment>`, []string{"one"}},
		{"single quotes", `<compartment title='it "is"' start='1' end='2'><p1>one</p1></compartment>`, []string{"one"}},
		{"an odd quote", `<compartment start="1" end="2" title="t" importance="><p1>one</p1></compartment>`, []string{"one"}},
		{"an element that closes itself", `<compartment start="1" end="2" title="t"/>` + head + `<p1>one</p1></compartment>`, []string{"one"}},
		{"no closing tag of a compartment", head + `<p1>one</p1>` + `<compartment start="3" end="4" title="u"><p1>two</p1></compartments><facts></facts>`, []string{"one", "two"}},
		{"no tiers", head + ` all of it </compartment>`, []string{"all of it"}},
		{"the second tier first", head + `<p2>two</p2></compartment>`, []string{"two"}},
		{"a tier twice", head + `<p1>one</p1><p1>again</p1></compartment>`, []string{"one"}},
		{"a first attempt in thoughts", `<think>` + head + `<p1>zero</p1></compartment></think>` + head + `<p1>one</p1></compartment>`, []string{"one"}},
		{"no title", `<compartment start="1" end="2"><p1>one</p1></compartment>`, nil},
		{"a blank title", `<compartment start="1" end="2" title=" "><p1>one</p1></compartment>`, nil},
		{"no start", `<compartment end="2" title="t"><p1>one</p1></compartment>`, nil},
		{"a start that is no number", `<compartment start="-1" end="2" title="t"><p1>one</p1></compartment>`, nil},
		{"a start beyond all numbers", `<compartment start="99999999999999999999" end="2" title="t"><p1>one</p1></compartment>`, nil},
		{"no text", head + `<p1></p1></compartment>`, nil},
		{"an answer that broke off", head + `<p1>one`, nil},
		{"another element", `<compartments start="1" end="2" title="t"><p1>one</p1></compartments>`, nil},
	} {
		var got []string
		for _, c := range Parse(test.answer).Compartments {
			got = append(got, c.Tiers[0])
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s: %s", test.name, d)
		}
	}
}

func TestImportanceIsWithinItsBounds(t *testing.T) {
	for text, want := range map[string]int{"": 50, "0": 1, "1": 1, "100": 100, "500": 100, "-3": 50, "high": 50, "7.5": 50, "99999999999999999999": 100} {
		if got := importance(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

// Bug class H44 (docs/defects.md): `&amp;lt;` must become `&lt;`. If `&amp;` were decoded before `&lt;`, it would
// become `<`.
func TestBugH44EntitiesAreDecodedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a&;<>"']*(?:(?:amp|lt|quot);[a&]*)*`).Draw(t, "text")
		if got := unescape(escape(text)); got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
	})
	if got := unescape("&amp;lt; &apos;x&apos;"); got != "&lt; 'x'" {
		t.Errorf("got %q", got)
	}
}

// Bug class H27 (docs/defects.md): if the text of a summary quoted the tag of a category, the quoted lines became
// facts. A quoted `<facts>` ended its compartment. If an answer had no facts, bullets of its prose became facts.
func TestBugH27FactsComeFromTheirBlock(t *testing.T) {
	const inner = "<PROJECT_RULES>\n* [1] bare fact\n</PROJECT_RULES>"
	const quote = "<NAMING>\n* [1-2] not a fact\n</NAMING>"
	const head = `<compartment start="1" end="2" title="t">`
	const narrative = head + `<p1>x ` + quote + `</p1></compartment>` +
		`<events><causal_incident at_compartment="1"><summary><CONSTRAINTS>` + "\n* [1] no\n" + `</CONSTRAINTS></summary></causal_incident></events>`
	want := []string{"bare fact"}
	for _, test := range []struct {
		name, answer string
		text         string // the expected end of the first tier
		facts        []string
	}{
		{"no element", inner + narrative, "</NAMING>", want},
		{"an element", narrative + "<facts>" + inner + "</facts>", "</NAMING>", want},
		{"prose", "I skip " + quote + ". " + narrative + "<facts>" + inner + "</facts>", "</NAMING>", want},
		{"an empty element and prose", "I skip " + quote + ". " + narrative + "<facts></facts>", "</NAMING>", nil},
		{"an empty element that closes itself", "I skip " + quote + ". " + narrative + "<facts/>", "</NAMING>", nil},
		{"blanks and prose", "I skip " + quote + ". " + narrative + "<facts>\n</facts>", "</NAMING>", nil},
		{"quoted facts", head + "<p1>a <facts>" + quote + "</facts> b</p1></compartment><facts></facts>", "b", nil},
		{"quoted facts without tiers", head + "a <facts>" + quote + "</facts> b</compartment><facts>" + inner + "</facts>", "b", want},
		{"quoted end of the answer", head + "<p1>a </compartment></compartments><facts>" + quote + "</facts> b</p1></compartment></compartments><facts>" + inner + "</facts>", "b", want},
		{"quoted compartment", head + "<p1>a <compartment start=\"1\" end=\"2\" title=\"q\">c</compartment><facts>" + quote + "</facts> b</p1></compartment><facts></facts>", "b", nil},
		{"a tag in the text", head + "<p1>a <compartment> and <compartment /> b</p1></compartment>", "b", nil},
		{"an end tag in a title", `<compartment start="1" end="2" title="</compartment>"><p1>b</p1></compartment>`, "b", nil},
		{"an end tag in a fact", head + "<p1>b</p1></compartment></compartments><facts>" + strings.Replace(inner, "fact", "fact </compartment>", 1) + "</facts>", "b", []string{"bare fact </compartment>"}},
		{"no end tag, and quoted facts", head + "<p1>a <facts>" + quote + "</facts> b</p1></compartments><facts>" + inner + "</facts>", "b", want},
		{"no end tag, and a quoted tag", head + "<p1>a <events> b</p1><facts>" + inner + "</facts>", "b", want},
	} {
		d := Parse(test.answer)
		var facts []string
		for _, f := range d.Facts {
			facts = append(facts, f.Content)
		}
		if diff := cmp.Diff(test.facts, facts); diff != "" {
			t.Errorf("%s: the facts: %s", test.name, diff)
		}
		if len(d.Compartments) != 1 || !strings.HasSuffix(d.Compartments[0].Tiers[0], test.text) {
			t.Errorf("%s: the compartments: %+v", test.name, d.Compartments)
		}
	}
}

// A fact names its messages before its text ("[12] uses bun") or after it ("uses bun [12]").
func TestFactNamesItsSource(t *testing.T) {
	for _, test := range []struct {
		line, content string
		source        chronicle.Range
	}{
		{"[12-15] uses bun", "uses bun", chronicle.Range{Start: 12, End: 15}},
		{"[12]: uses bun", "uses bun", chronicle.Range{Start: 12, End: 12}},
		{"uses bun [12 – 15].", "uses bun", chronicle.Range{Start: 12, End: 15}},
		{"[12] uses a[0] and [1]", "uses a[0] and [1]", chronicle.Range{Start: 12, End: 12}},
		{"uses bun", "", chronicle.Range{}},
		{"uses a[1] for bun", "", chronicle.Range{}},
		{"[12-15]", "", chronicle.Range{}},
		{"[15-12] uses bun", "", chronicle.Range{}},
		{"[0] uses bun", "", chronicle.Range{}},
		{"[99999999999999999999] uses bun", "", chronicle.Range{}},
	} {
		d := Parse("<facts><NAMING>\n* " + test.line + "\n</NAMING></facts>")
		if test.content == "" {
			if len(d.Facts) != 0 || d.Unsourced != 1 {
				t.Errorf("%q: %+v, %d unsourced", test.line, d.Facts, d.Unsourced)
			}
		} else if diff := cmp.Diff([]chronicle.Fact{{Category: "NAMING", Content: test.content, Source: test.source}}, d.Facts); diff != "" || d.Unsourced != 0 {
			t.Errorf("%q: %s, %d unsourced", test.line, diff, d.Unsourced)
		}
	}
}

// A summary may quote the tags of an answer, for example `</compartment>` or `<facts>`. The quoted tags must stay a
// part of the summary, and must not add facts.
func TestCompartmentEndsAtItsEndTag(t *testing.T) {
	pieces := []string{
		"<facts>", "</facts>", "<facts/>", "<NAMING>", "</NAMING>", "\n* [1] evil\n", "<events>", "</events>", "<user_observations>", "<meta>",
		"<unprocessed_from>1</unprocessed_from>", "</compartment>", "</compartments>", "</output>", "<compartment>", "<compartment ", " word ",
	}
	rapid.Check(t, func(t *rapid.T) {
		quote := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "quote"), "")
		d := Parse(`<output><compartments><compartment start="1" end="2" title="t"><p1>` + quote + `END</p1><p2>two</p2><p3>three</p3><p4/></compartment>` +
			`</compartments><facts><NAMING>` + "\n* [2] good\n" + `</NAMING></facts><meta><unprocessed_from>3</unprocessed_from></meta></output>`)
		if len(d.Compartments) != 1 || !strings.HasSuffix(d.Compartments[0].Tiers[0], "END") {
			t.Fatalf("%+v", d.Compartments)
		}
		if len(d.Facts) != 1 || d.Facts[0].Content != "good" || d.UnprocessedFrom != 3 {
			t.Fatalf("facts %+v, unprocessed from %d", d.Facts, d.UnprocessedFrom)
		}
	})
}

// Whatever an answer contains, the result of Parse must be bounded and clean.
func FuzzParse(f *testing.F) {
	f.Add(`<compartment start="1" end="2" title="t"><p1>x</p1></compartment>`)
	f.Add(`<compartment start="1" title='>' end="2"/><compartment <p1></p4></compartment><facts><NAMING>* x`)
	f.Add(`<compartment start="1" end="2" title="t"><p1><facts></compartment></compartments><compartment start="1"><p2></compartment><facts/>`)
	f.Add("<facts><NAMING>\n* [1-2] x\n* x [3\u20134]\n</NAMING></facts>")
	f.Add("<facts><NAMING>\n" + strings.Repeat("* [1-2] x\n", maxFacts+1))
	f.Add("<events><a at_compartment=\"1\"><b>x</b></a><unprocessed_from>3</unprocessed_from>\x00\xff")
	f.Add("<user_observations>\n* [1] x. U: y\n</user_observations><open_items>\n* 1\n* open 2 done [3-4]\n* open 99999999999999999999 done [1]")
	f.Fuzz(func(t *testing.T, answer string) {
		d := Parse(answer)
		if again := Parse(answer); cmp.Diff(d, again) != "" {
			t.Fatal("the same answer gives two drafts")
		}
		if len(d.Compartments) > maxItems || len(d.Facts) > maxFacts || len(d.Observations) > maxObservations || len(d.Items)+len(d.Closed) > maxItems {
			t.Fatal("too much of something")
		}
		for _, f := range d.Facts {
			if f.Content == "" || f.Source.Start < 1 || f.Source.End < f.Source.Start {
				t.Fatalf("bad fact %+v", f)
			}
		}
		last := 0
		for _, c := range d.Compartments {
			if c.Start < last {
				t.Fatalf("%v is out of order", c.Range())
			}
			last = c.Start
			if c.Start < 1 || c.End < 1 || c.Importance < minImportance || c.Importance > maxImportance || c.Title == "" || c.Tiers[0] == "" || c.Tiers[1] == "" || c.Tiers[2] == "" {
				t.Fatalf("bad compartment %+v", c)
			}
			if text := c.Title + strings.Join(c.Tiers[:], ""); clean(text) != text {
				t.Fatalf("control characters in %q", text)
			}
		}
	})
}

// A quadratic parser would need minutes for these answers.
func TestHostileAnswerIsReadInLinearTime(t *testing.T) {
	for _, piece := range []string{
		`<compartment `, `<compartment start="`, `<compartment start="1" end="2" title="t">`, `<p1>`, `</p1>`, `<NAMING>`, `<facts>`,
		`<events><a at_compartment="1">`, `<a at_compartment="1"><b>`, `&amp;`, `* `, `<think>`, `<unprocessed_from>`, "\n", "<open_items>\n* 1\n", "<user_observations>\n* [1] x. U: y\n", `<compartment start='1' end="1" title="x"><p1>`,
		`</compartment>`, `</compartments>`, `<compartment start="1"></compartment>`, `</compartment><compartment>`, `[1`, `* [1] `,
	} {
		Parse(strings.Repeat(piece, maxAnswer/len(piece)))
	}
}
