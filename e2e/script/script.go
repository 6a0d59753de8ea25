package script

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

// The last step of a Turn calls no tool.
type Turn struct {
	Prompt string
	Steps  []mockllm.Step
}

func Steps(turns []Turn) (n int) {
	for _, t := range turns {
		n += len(t.Steps)
	}
	return n
}

type Options struct {
	Project string
	Files   map[string]string
	// Steps is the number of steps in each turn, including the last one.
	Steps []int
	// Drops contains tags that the model asks to drop, by step. Steps are counted over the session, from 0.
	Drops map[int]string
	// After every DropEvery steps, the model asks to drop all but the newest keptTags tags. 0 means never.
	DropEvery int
	Seed      uint64
	// If Tools is nil, the script uses OpenCode's tools.
	Tools Tools
}

// Write returns the script of a session in which a model reads, searches and edits a project.
func Write(o Options) []Turn {
	w := &writer{
		Options: o,
		random:  rand.New(rand.NewPCG(o.Seed, 0)),
		names:   slices.Sorted(maps.Keys(o.Files)),
		content: maps.Clone(o.Files),
	}
	if w.Tools == nil {
		w.Tools = OpenCode
	}
	turns := make([]Turn, len(o.Steps))
	for i, steps := range o.Steps {
		turns[i].Prompt = fmt.Sprintf("Task %d: go through %s and its neighbours, and note in a comment where an error could be clearer.",
			i+1, w.names[i%len(w.names)])
		w.tags++
		for range steps - 1 {
			turns[i].Steps = append(turns[i].Steps, w.step())
		}
		turns[i].Steps = append(turns[i].Steps, w.conclude(i+1))
	}
	return turns
}

type writer struct {
	Options
	random  *rand.Rand
	names   []string
	content map[string]string
	// lastRead is the newest file that the model has read and not edited. OpenCode refuses to edit other files.
	lastRead string
	steps    int
	calls    int
	// `tags` is the number of units in the session so far. `dropped` is the number of units that the model has asked to
	// drop.
	tags, dropped int
}

// keptTags is larger than 20, the number of newest units that are protected from drops.
const keptTags = 25

// A step usually has one call, sometimes two, and sometimes a thought, as with real models.
func (w *writer) step() mockllm.Step {
	n := w.steps
	w.steps++
	if tags, ok := w.Drops[n]; ok {
		return w.reduce(tags)
	}
	if last := w.tags - keptTags; w.DropEvery > 0 && n%w.DropEvery == w.DropEvery-1 && last > w.dropped {
		tags := fmt.Sprintf("%d-%d", w.dropped+1, last)
		w.dropped = last
		return w.reduce(tags)
	}

	var blocks []mockllm.Block
	if n%5 == 2 {
		blocks = append(blocks, mockllm.Thinking(
			fmt.Sprintf("Step %d. I should check what %s returns before I touch it.", n, w.lastRead), fmt.Sprintf("c2lnbmF0dXJlLSVk%08d", n)))
	}
	if n%3 == 0 {
		w.tags++
		blocks = append(blocks, mockllm.Text(fmt.Sprintf("Step %d: looking further.", n)))
	}
	switch {
	case w.lastRead != "" && n%4 == 3:
		blocks = append(blocks, w.edit())
	case n%4 == 1:
		blocks = append(blocks, w.search())
	case n%7 == 4:
		blocks = append(blocks, w.read(), w.search())
	default:
		blocks = append(blocks, w.read())
	}
	return mockllm.Step{Blocks: blocks}
}

func (w *writer) conclude(turn int) mockllm.Step {
	w.steps++
	w.tags++
	return mockllm.Say(fmt.Sprintf("Task %d is done: I left the comments where they were missing.", turn))
}

// The ids of calls are part of the prompt, so they must not depend on earlier sessions of the mock.
func (w *writer) call(tool string, input map[string]any) mockllm.Block {
	w.calls++
	w.tags++
	return mockllm.Tool(fmt.Sprintf("toolu_%05d", w.calls), tool, input)
}

func (w *writer) reduce(tags string) mockllm.Step {
	return mockllm.Step{Blocks: []mockllm.Block{w.call("ctx_reduce", map[string]any{"drop": tags})}}
}

func (w *writer) read() mockllm.Block {
	name := w.names[w.random.IntN(len(w.names))]
	w.lastRead = name
	offset, limit := 0, 0
	if lines := strings.Count(w.content[name], "\n"); lines > 250 {
		offset, limit = 1+w.random.IntN(lines-200), 200
	}
	return w.call(w.Tools.Read(filepath.Join(w.Project, name), offset, limit))
}

// OpenCode's own grep tool would download ripgrep, so the method `search` runs grep in the shell. The order of grep's
// output depends on the disk, so the output is sorted.
func (w *writer) search() mockllm.Block {
	words := []string{"func Test", "fmt.Errorf", "context.Context", "return nil", "type .* struct", "const", "import"}
	word := words[w.random.IntN(len(words))]
	command := fmt.Sprintf("grep -rn --exclude-dir=.git %q . | sort | head -n %d", word, 10+w.random.IntN(50))
	return w.call(w.Tools.Bash(command, "Search for "+word))
}

func (w *writer) edit() mockllm.Block {
	name := w.lastRead
	w.lastRead = ""
	text := w.content[name]
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return len(strings.TrimSpace(line)) < 12 || strings.Count(text, line) != 1
	})
	if len(lines) == 0 {
		return w.read()
	}
	old := lines[w.random.IntN(len(lines))]
	edited := fmt.Sprintf("%s // seen in step %d", old, w.steps)
	w.content[name] = strings.Replace(text, old, edited, 1)
	return w.call(w.Tools.Edit(filepath.Join(w.Project, name), old, edited))
}
