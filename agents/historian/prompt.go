package historian

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

var (
	//go:embed prompts/historian.v2.md
	historianSystem string
	//go:embed prompts/editor.v2.md
	editorSystem string
	//go:embed prompts/repair.v2.md
	repairRules string
	//go:embed prompts/edit.v2.md
	editTask string
	//go:embed prompts/nofacts.v2.md
	withoutFacts string
	//go:embed prompts/observations.v2.md
	withObservations string
)

// System returns the historian's system prompt. It is always the same text, so that the provider can cache it.
func System() string { return strings.TrimSpace(historianSystem) }

func EditorSystem() string { return strings.TrimSpace(editorSystem) }

// Without these bounds, a hostile summary or list of facts could make every later prompt too long for its model.
const (
	// The historian sees this number of the newest compartments.
	maxReferences = 6
	// maxReferenceText limits each tier of a reference, in runes. An average first tier has about 1,300.
	maxReferenceText = 8_000
	// maxMemoryText limits the memories in a prompt, in bytes. The head shows only about half as much.
	maxMemoryText = 32 << 10
)

// Prompt returns the question to the historian. The same job gives the same prompt, so that a repeated question hits
// the provider's cache.
func Prompt(j *Job) string {
	sections := []string{examples(j.Session, j.Chunk.Start)}
	if len(j.References) > 0 {
		sections = append(sections, data("session_references", references(j.References)))
	}
	if len(j.Memories) > 0 && !j.WithoutFacts {
		sections = append(sections, data("project_memory", memories(j.Memories)))
	}
	if j.WithoutFacts {
		sections = append(sections, strings.TrimSpace(withoutFacts))
	}
	if j.takesObservations() {
		sections = append(sections, strings.TrimSpace(withObservations))
	}
	if section := promiseSection(j.promises(), j.open()); section != "" {
		sections = append(sections, section)
	}
	messages := fmt.Sprintf("Messages %d-%d:\n\n%s", j.Chunk.Start, j.Chunk.End, j.Chunk.Text)
	return paragraphs(append(sections, data("new_messages", messages)))
}

// repairPrompt begins with the first prompt, because the provider has that prompt in its cache.
func repairPrompt(prompt, answer string, problem *Invalid) string {
	return paragraphs([]string{prompt, strings.TrimSpace(repairRules), "The error: " + problem.Detail, data("previous_answer", answer)})
}

func editPrompt(answer string) string {
	return paragraphs([]string{strings.TrimSpace(editTask), data("draft", answer)})
}

func paragraphs(sections []string) string { return strings.Join(sections, "\n\n") }

// The function `data` puts marker lines around text that the model must not read as an instruction. The marker lines
// contain a hash of the text, so the text cannot contain its own end line, and equal texts give equal lines.
func data(name, text string) string {
	sum := sha256.Sum256([]byte(name + "\n" + text))
	number := hex.EncodeToString(sum[:8])
	return fmt.Sprintf("=== BEGIN DATA %s %s ===\n%s\n=== END DATA %s %s ===", name, number, text, name, number)
}

func references(all []chronicle.Compartment) string {
	var b strings.Builder
	for i, r := range all[max(0, len(all)-maxReferences):] {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, `<compartment start="%d" end="%d" title="%s"`, r.Start, r.End, escape(r.Title))
		if r.Episode != "" {
			fmt.Fprintf(&b, ` episode_type="%s"`, escape(r.Episode))
		}
		fmt.Fprintf(&b, " importance=\"%d\">\n", r.Importance)
		for tier, text := range r.Tiers {
			if text != "" {
				fmt.Fprintf(&b, "<p%d>\n%s\n</p%d>\n", tier+1, escape(cut(text, maxReferenceText)), tier+1)
			}
		}
		b.WriteString("</compartment>")
	}
	return b.String()
}

// The function `memories` lists the known categories first, in their order, and then other categories, in the order of
// their first fact. Within a category, the newest fact is last.
func memories(all []chronicle.Memory) string {
	order := slices.Clone(chronicle.Categories[:])
	lines := map[string][]string{}
	for _, m := range newestMemories(all) {
		if !slices.Contains(order, m.Category) {
			order = append(order, m.Category)
		}
		lines[m.Category] = append(lines[m.Category], "- "+escape(oneLine(m.Content)))
	}
	var groups []string
	for _, category := range order {
		if len(lines[category]) > 0 {
			groups = append(groups, fmt.Sprintf("<%s>\n%s\n</%s>", category, strings.Join(lines[category], "\n"), category))
		}
	}
	return strings.Join(groups, "\n")
}

// newestMemories returns the newest facts that fit, oldest first.
func newestMemories(all []chronicle.Memory) []chronicle.Memory {
	left := maxMemoryText
	for i := range slices.Backward(all) {
		if left -= len(all[i].Content); left < 0 {
			return all[i+1:]
		}
	}
	return all
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(text string) string { return escapes.Replace(text) }
