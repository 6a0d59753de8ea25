package historian

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A Draft is a parsed answer that has not been checked against the chunk.
type Draft struct {
	// Compartments are sorted by their starts. They have no keys and receipts yet.
	Compartments []chronicle.Compartment
	Facts        []chronicle.Fact
	// Each observation still ends with the words of the user that support it.
	Observations []chronicle.Observation
	// The question lists numbered sentences that may be promises. Items has the numbers of those that the model chose.
	// Closed lists earlier promises that the answer closes.
	Items  []int
	Closed []chronicle.Closing
	// Unsourced counts the facts that name no messages.
	Unsourced int
	// UnprocessedFrom is the first ordinal that the answer leaves to the next run, or 0.
	UnprocessedFrom int
	// Skipped says which compartments could not be read, and why.
	Skipped []string
}

// A normal answer has a few compartments of a few kilobytes each. These limits keep an endless answer out of the memory
// and the database.
const (
	maxAnswer   = 1 << 20
	maxItems    = 200
	maxFacts    = 40 // few, because the facts of one answer must not displace the project's other facts
	maxItemText = 2_000
	// maxObservations is small, because a chunk reveals little about the user.
	maxObservations = 5
	maxTitle        = 300
	maxOrdinal      = 1 << 31
	maxNumber       = 12 // digits
	flatTierTwo     = 1_200
	flatTierThree   = 420
)

// Parse reads an answer leniently: it ignores text around the elements, and accepts attributes in any order and missing
// closing tags. Parse never fails: if it finds no compartments, the draft has none. Its time is linear in the length of
// the answer.
func Parse(answer string) Draft {
	var d Draft
	if len(answer) > maxAnswer {
		d.skip("the answer is longer than %d bytes", maxAnswer)
		return d
	}
	answer = withoutThinking(clean(answer))
	rest := d.takeCompartments(answer)
	_, rest, _ = cutElement(rest, "events") // the prompt asks for this element, but no code uses it
	items, rest, _ := cutElement(rest, "open_items")
	d.parseItems(items)
	observations, rest, _ := cutElement(rest, "user_observations")
	for _, line := range bullets(observations) {
		if source, content, ok := cutSource(line); ok && len(d.Observations) < maxObservations {
			d.Observations = append(d.Observations, chronicle.Observation{Content: content, Source: source})
		}
	}
	if number, _, ok := cutElement(rest, "unprocessed_from"); ok {
		d.UnprocessedFrom, _ = ordinal(strings.TrimSpace(number))
	}
	facts, _, ok := cutElement(rest, "facts")
	if !ok { // the answer has no element for its facts
		facts = rest
	}
	d.parseFacts(facts)
	return d
}

func (d *Draft) skip(format string, args ...any) {
	if len(d.Skipped) < maxItems {
		d.Skipped = append(d.Skipped, fmt.Sprintf(format, args...))
	}
}

// clean removes invalid UTF-8 and control characters, which must not reach a database or a terminal. It also removes
// invisible characters, for example those that change the direction of a line. It keeps the two joiners that some
// scripts need. It replaces Unicode line separators with "\n", so that this package sees the same lines as a person.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028', r == '\u2029':
			return '\n'
		case r == unicode.ReplacementChar, unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) && r != '\u200c' && r != '\u200d':
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// withoutThinking removes the reasoning that some models write before the answer. The reasoning can contain a first
// attempt at the compartments, which must not be parsed.
func withoutThinking(answer string) string {
	trimmed := strings.TrimSpace(answer)
	if !strings.HasPrefix(trimmed, "<think>") {
		return answer
	}
	if _, after, closed := strings.Cut(trimmed, "</think>"); closed {
		return after
	}
	return answer
}

// These tags end a compartment without an end tag.
var ends = [...]string{"</compartments>", "<facts>", "<facts/>", "<events>", "<events/>", "<user_observations>", "<open_items>", "<meta>", "</output>"}

// An element is a compartment in the answer. Its opening tag begins at `start`, its body is answer[body:end], and the
// text after it begins at `next`. isOpen means that the answer breaks off within the compartment.
type element struct {
	start, body, end, next int
	isEmpty, isOpen        bool
}

func (d *Draft) takeCompartments(answer string) (rest string) {
	found, ok := elements(answer)
	if !ok {
		d.skip("the answer has more than %d compartments", maxItems)
		return ""
	}
	var around strings.Builder
	from := 0
	for i, e := range found {
		around.WriteString(answer[from:e.start])
		from = e.next
		c, problem := compartment(parseAttributes(answer[e.start:e.body]), answer[e.body:e.end])
		switch {
		case e.isEmpty:
			problem = "has no text"
		case e.isOpen:
			problem = "breaks off"
		}
		if problem != "" {
			d.skip("compartment %d %s", i+1, problem)
		} else {
			d.Compartments = append(d.Compartments, c)
		}
	}
	around.WriteString(answer[from:])
	slices.SortStableFunc(d.Compartments, func(a, b chronicle.Compartment) int { return cmp.Compare(a.Start, b.Start) })
	return around.String()
}

// elements finds the compartments of an answer in linear time. If there are more than maxItems, it returns false.
//
// A summary may quote this grammar, so tags are matched like brackets. If a compartment has an end tag, it ends there:
// in "<compartment …>a <facts> b</compartment>", the tag <facts> is text. If the summary quotes an end tag without a
// start tag, the last end tag before the next compartment counts. If a compartment has no end tag, it ends at the next
// compartment, or at the first tag after its last tier that the list `ends` contains.
func elements(answer string) (found []element, ok bool) {
	tags := compartmentTag().FindAllStringIndex(answer, -1)
	isEnd := func(i int) bool { return answer[tags[i][0]+1] == '/' }
	limits := make([]int, len(tags)) // for each tag, the beginning of the next compartment
	for i, next := len(tags)-1, len(answer); i >= 0; i-- {
		if limits[i] = next; !isEnd(i) {
			next = tags[i][0]
		}
	}
	listEnd := strings.LastIndex(answer, "</compartments>")
	var open []int // indices in found of the compartments without an end tag so far
	body := 0      // the end of the newest opening tag
	for i, at := range tags {
		if at[0] < body {
			continue // the tag is inside an attribute
		}
		if isEnd(i) {
			last := len(found) - 1
			if n := len(open) - 1; n >= 0 {
				last, open = open[n], open[:n]
				found = found[:last+1] // compartments within a compartment are text
			} else if last < 0 || found[last].isEmpty || listEnd >= 0 && at[0] > listEnd {
				continue
			}
			found[last].end, found[last].next = at[0], at[1]
			continue
		}
		length, isEmpty := openTag(answer[at[0]:limits[i]])
		e := element{start: at[0], body: at[0] + length, isEmpty: isEmpty}
		if attributes := parseAttributes(answer[e.start:e.body]); len(found) > 0 && attributes["start"]+attributes["end"] == "" {
			continue // the text only mentions the tag
		}
		body, e.end, e.next = e.body, e.body, e.body
		if !isEmpty {
			open = append(open, len(found))
		}
		if found = append(found, e); len(found) > maxItems {
			return nil, false
		}
	}
	for _, i := range open {
		limit := len(answer)
		if i+1 < len(found) {
			limit = found[i+1].start
		}
		found[i].endWithoutTag(answer[:limit], limit == len(answer))
	}
	return found, true
}

// text is the answer up to the next compartment.
func (e *element) endWithoutTag(text string, isLast bool) {
	behind := e.body // tags before the last tier are ignored, because a tier may quote them
	if tiers := tierTag().FindAllStringIndex(text[e.body:], -1); len(tiers) > 0 {
		behind += tiers[len(tiers)-1][1]
	}
	e.end = len(text)
	for _, mark := range ends {
		if at := strings.Index(text[behind:], mark); at >= 0 {
			e.end = min(e.end, behind+at)
		}
	}
	e.next, e.isOpen = e.end, isLast && e.end == len(text)
}

func compartment(attributes map[string]string, body string) (chronicle.Compartment, string) {
	var c chronicle.Compartment
	var ok bool
	if c.Start, ok = ordinal(attributes["start"]); !ok {
		return c, "has no number as start"
	}
	if c.End, ok = ordinal(attributes["end"]); !ok {
		return c, "has no number as end"
	}
	if c.Title = cut(oneLine(unescape(attributes["title"])), maxTitle); c.Title == "" {
		return c, "has no title"
	}
	c.Importance = importance(attributes["importance"])
	c.Episode = episode(unescape(attributes["episode_type"]))
	c.Tiers = tiers(body)
	if c.Tiers[0] == "" {
		return c, "has no text"
	}
	return c, ""
}

// openTag returns the length of a tag. A ">" inside quotes does not end the tag. If a quote is unpaired, the first ">"
// ends the tag.
func openTag(text string) (length int, selfClosed bool) {
	end, quote := -1, byte(0)
	for i := 0; i < len(text) && end < 0; i++ {
		switch b := text[i]; {
		case quote != 0 && b == quote:
			quote = 0
		case quote == 0 && (b == '"' || b == '\''):
			quote = b
		case quote == 0 && b == '>':
			end = i + 1
		}
	}
	if end < 0 {
		end = strings.IndexByte(text, '>') + 1
	}
	if end == 0 {
		return len(text), false
	}
	return end, strings.HasSuffix(text[:end], "/>")
}

var (
	compartmentTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<compartment[\s/>]|</compartment>`) })
	attribute      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([a-z_]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	})
	tierTag     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<(/?)p([1-4])\s*(/?)>`) })
	categoryTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`<(/?)(` + strings.Join(chronicle.Categories[:], "|") + `)\s*(/?)>`)
	})
	sourceTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[(\d+)(?: ?[-–] ?(\d+))?\]`) })
)

// If a name occurs twice, the first value counts.
func parseAttributes(tag string) map[string]string {
	found := map[string]string{}
	for _, m := range attribute().FindAllStringSubmatch(tag, -1) {
		if _, known := found[m[1]]; !known {
			found[m[1]] = m[2] + m[3]
		}
	}
	return found
}

func ordinal(text string) (int, bool) {
	if text == "" || len(text) > maxNumber {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || n > maxOrdinal {
		return 0, false
	}
	return int(n), true
}

// importance reads a number and clamps it to 1..100. For any other text, it returns the default.
func importance(text string) int {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return defaultImportance
	}
	n, err := strconv.Atoi(text)
	if err != nil { // the number has too many digits
		return maxImportance
	}
	return min(max(n, minImportance), maxImportance)
}

var episodes = [...]string{"bug", "feature", "release", "refactor", "infra", "design", "investigation", "docs"}

// episode keeps only the known kinds from a list such as "bug,docs".
func episode(list string) string {
	var known []string
	for kind := range strings.SplitSeq(strings.ToLower(list), ",") {
		kind = strings.TrimSpace(kind)
		if slices.Contains(episodes[:], kind) && !slices.Contains(known, kind) {
			known = append(known, kind)
		}
	}
	return strings.Join(known, ",")
}

// tiers returns the texts of the four tiers. A tier ends at the next tag of any tier, so a wrong closing tag does no
// harm. If the first tier is missing, it gets the first text that any tier has. If the second or third tier is missing,
// it gets the text of the tier before it. If the fourth tier is missing, it stays empty.
func tiers(body string) (tiers [4]string) {
	tags := tierTag().FindAllStringSubmatchIndex(body, -1)
	seen := [4]bool{}
	for i, at := range tags {
		tier := body[at[4]] - '1'
		isClosing, isEmpty := at[3] > at[2], at[7] > at[6]
		if isClosing || seen[tier] {
			continue
		}
		seen[tier] = true
		if isEmpty {
			continue
		}
		end := len(body)
		if i+1 < len(tags) {
			end = tags[i+1][0]
		}
		tiers[tier] = unescape(strings.TrimSpace(body[at[1]:end]))
	}
	if !slices.Contains(seen[:], true) {
		return flat(unescape(strings.TrimSpace(body)))
	}
	tiers[0] = cmp.Or(tiers[:]...)
	tiers[1] = cmp.Or(tiers[1], tiers[0])
	tiers[2] = cmp.Or(tiers[2], tiers[1])
	return tiers
}

func flat(body string) [4]string {
	return [4]string{body, cut(body, flatTierTwo), cut(body, flatTierThree), ""}
}

// cutElement returns the content of the first element called name, and the text around the element. An element without
// an end tag extends to the end of the text.
func cutElement(text, name string) (content, rest string, found bool) {
	before, after, found := strings.Cut(text, "<"+name+">")
	if empty, behind, ok := strings.Cut(text, "<"+name+"/>"); ok && (!found || len(empty) < len(before)) {
		return "", empty + behind, true
	}
	if !found {
		return "", text, false
	}
	content, behind, _ := strings.Cut(after, "</"+name+">")
	return content, before + behind, true
}

// A fact names its source messages, for example "* [12-15] Tests run with bun". parseFacts counts a bullet without
// messages as unsourced.
func (d *Draft) parseFacts(text string) {
	tags := categoryTag().FindAllStringSubmatchIndex(text, -1)
	for i, at := range tags {
		if at[3] > at[2] || at[7] > at[6] { // a closing tag or an empty element
			continue
		}
		end := len(text)
		if i+1 < len(tags) {
			end = tags[i+1][0]
		}
		for _, line := range bullets(text[at[1]:end]) {
			source, content, ok := cutSource(line)
			switch {
			case !ok:
				d.Unsourced++
			case len(d.Facts) < maxFacts:
				d.Facts = append(d.Facts, chronicle.Fact{Category: text[at[4]:at[5]], Content: content, Source: source})
			}
		}
	}
}

func cutSource(line string) (source chronicle.Range, content string, ok bool) {
	tags := sourceTag().FindAllStringSubmatchIndex(line, -1)
	if len(tags) == 0 {
		return source, "", false
	}
	at := tags[0]
	if content = strings.TrimLeft(line[at[1]:], ": "); at[0] > 0 {
		at = tags[len(tags)-1]
		if strings.Trim(line[at[1]:], ".") != "" {
			return source, "", false // the line only mentions a range
		}
		content = strings.TrimSpace(line[:at[0]])
	}
	start, ok := ordinal(line[at[2]:at[3]])
	end := start
	if ok && at[4] >= 0 {
		end, ok = ordinal(line[at[4]:at[5]])
	}
	return chronicle.Range{Start: start, End: end}, content, ok && content != "" && start <= end
}

func bullets(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if content, ok := strings.CutPrefix(strings.TrimSpace(line), "* "); ok && len(found) < maxItems {
			if content = cut(oneLine(unescape(content)), maxItemText); content != "" {
				found = append(found, content)
			}
		}
	}
	return found
}

// Each entity is replaced only once, so "&amp;lt;" becomes "&lt;" and not "<".
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&amp;", "&")

func unescape(text string) string { return entities.Replace(text) }

// If cut cuts something, the last rune is "…".
func cut(text string, runes int) string {
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == runes {
			return strings.TrimRightFunc(text[:i], unicode.IsSpace) + "…"
		}
	}
	return text
}
