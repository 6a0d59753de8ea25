package main

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A summary keeps one in keptOf sentences. OpenCode's summary then has about 1,200 tokens in a window of 64,000 tokens.
// Each tier of a compartment keeps one in keptOfTier sentences of the more detailed tier before it. Real tiers have
// about this ratio (see docs/history.md).
const (
	keptOf     = 5
	keptOfTier = 3
)

// compress plays a model that summarises: it keeps about one in n sentences. A hash of the seed and the sentence
// selects them. OpenCode's compaction and the historian both use compress, so that neither writes better summaries. A
// summary of a summary uses another seed, so it loses sentences again.
func compress(sentences []string, n uint64, seed string) (kept []string) {
	for _, s := range sentences {
		h := fnv.New64a()
		fmt.Fprint(h, seed, "\n", s)
		if h.Sum64()%n == 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// sentences returns the complete sentences and the error lines of a text. It ignores listings and calls.
func sentences(text string) (all []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if _, report, ok := strings.Cut(line, "error: "); ok && !strings.HasSuffix(line, ".") {
			all = append(all, "error: "+report)
			continue
		}
		for _, s := range strings.SplitAfter(line, ". ") {
			if s = strings.TrimSpace(s); strings.HasSuffix(s, ".") {
				all = append(all, s)
			}
		}
	}
	return all
}

var (
	// OpenCode 2 puts the conversation at the end of the prompt, without a tag.
	compacted       = regexp.MustCompile(`(?s)(?:<conversation>\n(.*)\n</conversation>|The following is the conversation history:\n(.*)$)`)
	previousSummary = regexp.MustCompile(`(?s)<previous-summary>\n(.*)\n</previous-summary>`)
	summaryHeader   = "## Objective\n- The user has the ledgers of a town read.\n\n## Work State\n"
)

// compaction plays the model that writes OpenCode's summary. `p` is the turn and the step that the story has reached.
// The summary must name them, because the compaction may remove all messages that do, and the story must know where to
// go on.
func compaction(prompt string, p place) answer {
	var told []string
	for _, part := range []*regexp.Regexp{previousSummary, compacted} {
		if m := part.FindStringSubmatch(prompt); m != nil {
			for _, text := range m[1:] {
				told = append(told, sentences(text)...)
			}
		}
	}
	told = compress(told, keptOf, fmt.Sprint("compaction ", p))
	return answer{text: fmt.Sprintf("%s- Turn %d, step %d was the last.\n\n## Important Details\n- %s",
		summaryHeader, p.turn, p.step, strings.Join(told, "\n- "))}
}

// A compartment covers two turns, because its first tier then has about 300 tokens, like a real compartment
// (docs/history.md).
const turnsOfCompartment = 2

var (
	chunkLine = regexp.MustCompile(`(?m)^\[(\d+)(?:-(\d+))?\] (U|A): (.*)$`)
	newBlock  = regexp.MustCompile(`(?s)=== BEGIN DATA new_messages \w+ ===\n(.*)\n=== END DATA new_messages`)
)

func isForHistorian(prompt string) bool { return newBlock.MatchString(prompt) }

func compartments(prompt string) answer {
	m := newBlock.FindStringSubmatch(prompt)
	var all []string
	var open chronicle.Range
	var told []string
	turns := 0
	finish := func() {
		if open.End > 0 {
			all = append(all, compartment(open, told))
		}
	}
	for _, line := range chunkLine.FindAllStringSubmatch(m[1], -1) {
		r := rangeOf(line)
		if line[3] == "U" {
			turns++
		}
		if line[3] == "U" && turns > turnsOfCompartment {
			finish()
			open, told, turns = chronicle.Range{}, nil, 1
		}
		if open.Start == 0 {
			open.Start = r.Start
		}
		open.End = r.End
		for _, part := range strings.Split(line[4], " / ") {
			told = append(told, sentences(part)...)
		}
	}
	finish()
	return answer{text: historiantest.Output(all...)}
}

func rangeOf(line []string) chronicle.Range {
	start, _ := strconv.Atoi(line[1])
	end := start
	if line[2] != "" {
		end, _ = strconv.Atoi(line[2])
	}
	return chronicle.Range{Start: start, End: end}
}

func compartment(r chronicle.Range, told []string) string {
	seed := "messages " + r.String()
	var tiers [3]string
	kept := compress(told, keptOf, seed)
	for i := range tiers {
		tiers[i] = strings.Join(kept, " ")
		kept = compress(kept, keptOfTier, fmt.Sprint(seed, " tier ", i+2))
	}
	if tiers[0] == "" { // a compartment needs a text
		tiers[0] = "The ledgers were read on."
	}
	return fmt.Sprintf("<compartment start=\"%d\" end=\"%d\" title=\"Ledgers, messages %s\" episode_type=\"investigation\" importance=\"50\">\n<p1>%s</p1>\n<p2>%s</p2>\n<p3>%s</p3>\n<p4/>\n</compartment>",
		r.Start, r.End, r, tiers[0], tiers[1], tiers[2])
}
