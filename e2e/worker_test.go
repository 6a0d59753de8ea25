package e2e

import (
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/script"
)

// A worker plays a model that reads a log until it has read enough. Its answers depend on the size of the prompt. So
// the pressure comes from real content, and a bust reduces it.
type worker struct {
	// The worker thinks, and signs its thinking, only in Anthropic's dialect.
	dialect mockllm.Dialect
	project string
	tools   script.Tools

	// mu guards all fields below.
	mu sync.Mutex
	// `enough` decides when the turn ends. It is called with the size of each request.
	enough func(tokens int) bool
	lines  func(tokens int) int
	// If a prompt has `window` tokens or more, the provider refuses it. If `window` is 0, the provider refuses no prompt.
	window  int
	refused int
	// If thinksAgain is true, some answers contain two thoughts, the second one directly after the first or after a
	// text.
	thinksAgain bool
	drops       string
	// If `hangs` is N, the Nth request from now never gets a complete answer, and the worker closes the channel `hanging`
	// to report this. If `busy` is N, the provider refuses the next N requests because it is overloaded. The worker counts
	// both numbers down.
	hangs   int
	hanging chan<- struct{}
	busy    int
	arrived func(n int)
	step    int
	calls   int
	// thoughtOf maps the id of a call to the thought before it.
	thoughts  map[thought]bool
	thought   thought
	thoughtOf map[string]thought
}

const (
	logLines = 4_000
	// If each of two calls reads usualLines lines, they return about 900 tokens together. One call that reads largeLines
	// lines returns 8,000.
	callsPerStep = 2
	usualLines   = 30
	largeLines   = 640
)

func (w *world) worker(d mockllm.Dialect) *worker {
	return &worker{
		dialect: d, project: w.project, tools: w.tools(), thoughts: map[thought]bool{}, thoughtOf: map[string]thought{},
		lines: func(int) int { return usualLines },
	}
}

// All lines are different. The provider and the host count nearly the same number of tokens for them.
func logFiles() map[string]string {
	var b strings.Builder
	for i := range logLines {
		fmt.Fprintf(&b, "job %d is waiting for the amber service\n", i*7919%99991)
	}
	return map[string]string{"job.log": b.String()}
}

func (k *worker) answer(r *mockllm.Request) mockllm.Step {
	k.mu.Lock()
	defer k.mu.Unlock()
	tokens := r.Tokens()
	if k.window > 0 && tokens > k.window {
		k.refused++
		return refusal(r.Dialect, tokens, k.window)
	}
	if k.arrived != nil {
		k.arrived(k.step)
	}
	if k.busy > 0 {
		k.busy--
		return mockllm.Fail(http.StatusServiceUnavailable, "overloaded_error", "Overloaded")
	}
	k.step++
	if k.enough(tokens) {
		return mockllm.Step{Blocks: append(k.think(), mockllm.Text(fmt.Sprintf("Found nothing by step %d.", k.step)))}
	}
	blocks := k.think()
	if k.drops != "" {
		blocks = append(blocks, mockllm.Tool(fmt.Sprintf("toolu_drop%05d", k.step), "ctx_reduce", map[string]any{"drop": k.drops}))
		k.drops = ""
		return mockllm.Step{Blocks: blocks}
	}
	if k.hangs > 0 {
		if k.hangs--; k.hangs == 0 {
			close(k.hanging)
			return mockllm.Step{Blocks: append(blocks, mockllm.Text("I shall")), Hang: true}
		}
	}
	if k.step%3 == 0 {
		blocks = append(blocks, mockllm.Text(fmt.Sprintf("Reading on, step %d.", k.step)))
	}
	lines := k.lines(tokens)
	for i := range callsPerStep {
		blocks = append(blocks, k.read(lines, i == 0))
		if lines == largeLines {
			break
		}
	}
	return mockllm.Step{Blocks: blocks}
}

// A thought identifies a thinking block: by its text and signature, or by its redacted data.
type thought struct{ text, signature string }

// Sometimes the provider redacts the text of a thought.
func (k *worker) think() []mockllm.Block {
	if k.dialect != mockllm.Anthropic {
		return nil
	}
	var block mockllm.Block
	if k.step%4 == 2 {
		k.thought = thought{text: fmt.Sprintf("aGlkZGVu%08d==", k.step)}
		block = mockllm.RedactedThinking(k.thought.text)
	} else {
		k.thought = thought{fmt.Sprintf("Step %d: is it <here>?\n\tNot \"yet\".", k.step), fmt.Sprintf("c2lnbmF0dXJl%08d==", k.step)}
		block = mockllm.Thinking(k.thought.text, k.thought.signature)
	}
	k.thoughts[k.thought] = true
	again := mockllm.Thinking(fmt.Sprintf("Step %d: or is it there?", k.step), "c2Vjb25k")
	switch {
	case k.thinksAgain && k.step%7 == 3:
		return []mockllm.Block{block, again}
	case k.thinksAgain && k.step%7 == 5:
		return []mockllm.Block{block, mockllm.Text(fmt.Sprintf("It may be here, step %d.", k.step)), again}
	}
	return []mockllm.Block{block}
}

func (k *worker) read(lines int, shell bool) mockllm.Block {
	id := fmt.Sprintf("toolu_%05d", k.calls)
	first := k.calls*usualLines%(logLines-lines) + 1
	k.calls++
	if k.dialect == mockllm.Anthropic {
		k.thoughtOf[id] = k.thought
	}
	if shell {
		command := fmt.Sprintf("sed -n %d,%dp job.log", first, first+lines-1)
		tool, input := k.tools.Bash(command, "Read on")
		return mockllm.Tool(id, tool, input)
	}
	tool, input := k.tools.Read(filepath.Join(k.project, "job.log"), first, lines)
	return mockllm.Tool(id, tool, input)
}

func refusal(d mockllm.Dialect, tokens, window int) mockllm.Step {
	message := fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, window)
	if d == mockllm.OpenAI {
		message = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. "+
			"Please reduce the length of the messages.", window, tokens)
	}
	return mockllm.Fail(http.StatusBadRequest, "invalid_request_error", message)
}

func (k *worker) until(enough func(tokens int) bool) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.enough = enough
	return k
}

func above(tokens int) func(int) bool { return func(n int) bool { return n > tokens } }

func steps(n int) func(int) bool {
	return func(int) bool {
		n--
		return n < 0
	}
}

func (k *worker) recovered(n int) func(int) bool {
	return func(int) bool {
		if k.refused > 0 {
			n--
		}
		return n < 0
	}
}

func relieved(n int) func(int) bool {
	before, left := 0, -1
	return func(tokens int) bool {
		switch {
		case left > 0:
			left--
		case tokens < before:
			left = n
		}
		before = tokens
		return left == 0
	}
}

func (k *worker) serve(w *world, rule string, match func(*mockllm.Request) bool) {
	w.mock.AddRule(mockllm.Rule{Name: rule, Match: match, Answer: k.answer})
}

// picture returns a screenshot whose pixels hardly compress, so that the file is large enough: magicctx does not remove
// a very small image after the model's answer (text.IsProcessableImage).
func picture(t *testing.T) opencodetest.File {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 24, 24))
	for x := range 24 {
		for y := range 24 {
			img.Set(x, y, color.RGBA{uint8(x * x * y), uint8(y * y * x), uint8(x * y * 7), 255})
		}
	}
	var b strings.Builder
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return opencodetest.File{Mime: "image/png", Name: "screen.png", URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(b.String()))}
}
